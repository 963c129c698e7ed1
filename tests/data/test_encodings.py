"""Text that is not UTF-8: which encoding it has, and what is said of it."""

import gzip
import pickle
import re
from pathlib import Path

import pytest

from crossview import GuessWarning, InputError, open_table
from crossview.readers import encodings
from crossview.readers.columnar import text as text_module
from crossview.readers.columnar import wide
from crossview.saving.files import close_process_folder

TEXTS = {
    "german": ("cp1252", "Müller;Köln;groß\nJäger;Düsseldorf;übergroß\n"),
    "one word": ("cp1252", "Köln\n"),
    "signs": ("cp1252", "Kabel;3 €\nIt’s “great” – für 20 °C, 5 m² ½\n"),
    "french": ("cp1252", "Lefèvre;Orléans;l’été\nGarçon;Nîmes\nNoël;Besançon\n"),
    "spanish": ("cp1252", "Muñoz;Málaga\nPeña;Córdoba\n¿Qué?;Cádiz\n"),
    "swedish": ("cp1252", "Åsa;Malmö\nBjörn;Göteborg\nHåkan;Västerås\n"),
    "from a Macintosh": ("mac_roman", "Müller;Köln;groß\nJäger;Düsseldorf;übergroß\n"),
    "from DOS": ("cp850", "Müller;Köln;groß\nJäger;Düsseldorf;übergroß\n"),
    "finnish": ("cp1252", "Jyväskylä\nHämeenlinna;Äänekoski\n"),
    "polish": ("cp1250", "Łukasz;Łódź\nMałgorzata;Gdańsk\nŻaneta;Częstochowa;książka\n"),
    "czech": ("cp1250", "Jiří;Plzeň\nŠtěpán;Ústí\nŽofie;Třebíč\n"),
    "russian": ("cp1251", "Иван;Москва\nОльга;Казань\nСергей;Самара\n"),
    "greek": ("cp1253", "Γιώργος;Αθήνα\nΜαρία;Πάτρα\n"),
    "turkish": ("cp1254", "Ayşe;İstanbul\nÇağrı;Muğla\nŞehir\n"),
    "japanese": ("cp932", "田中;東京\n佐藤;大阪\n鈴木;名古屋\n"),
    "chinese": ("gb18030", "王伟;北京\n李娜;上海\n张伟;广州\n"),
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_guess_reads_the_text_and_shows_words_of_it(language, tmp_path):
    encoding, text = TEXTS[language]
    path = tmp_path / "a.csv"
    path.write_bytes(b"no,text\n" + text.encode(encoding) * 5)
    with pytest.warns(GuessWarning, match=r"a\.csv is not UTF-8: read as \w+ \(") as said:
        found = encodings.find_encoding(str(path))
    assert text.encode(encoding).decode(found) == text
    (shown,) = re.findall(r"\((.*)\)", str(said[0].message))
    assert all(word in text for word in shown.split(", "))


@pytest.mark.parametrize("value", ["5½", "7 ±", "£ 20", "Acme™", "25 °C", "5ö"])
def test_a_few_signs_are_of_windows(value, tmp_path):
    rows = [f"{i},item {'red' if i % 2 else 'blue'} box" for i in range(200)]
    rows[5::60] = [f"{i},{value}" for i in range(4)]
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(["id,name", *rows]).encode("cp1252"))
    with pytest.warns(GuessWarning, match="read as cp1252"):
        encodings.find_encoding(str(path))


def test_an_odd_byte_far_from_the_start_counts(tmp_path):
    path = tmp_path / "a.csv.gz"
    rows = b"1,plain\n" * 400_000 + "2,Köln\n".encode("cp1252") + b"3,plain\n" * 10
    path.write_bytes(gzip.compress(b"n,where\n" + rows, 1))
    with pytest.warns(GuessWarning, match="Köln"):
        stream = open_table(path)
    assert stream.dialect == {"encoding": "cp1252"}
    assert list(stream.value_counts("where")) == ["Köln", "plain"]


def rows_of(stream):
    return [row for batch in stream for row in batch.X.to_pylist()]


@pytest.mark.parametrize("through_arrow", [False, True])
def test_names_and_values_are_read_and_errors_name_the_file_and_its_row(
    through_arrow, tmp_path, monkeypatch
):
    if through_arrow:
        for module in (wide, text_module):
            monkeypatch.setattr(module, "WIDE", 0)
    path = tmp_path / "a.csv"
    text = 'Größe;"Straße; alt";ß\r\n1,5;"Königs\r\nallee";7\r\n2,5;Ufer;8\r\n'
    path.write_bytes(text.encode("cp1252"))
    stream = open_table(path, encoding="Windows-1252", decimal=",")
    expected = [
        {"Größe": 1.5, "Straße; alt": "Königs\r\nallee", "ß": 7},
        {"Größe": 2.5, "Straße; alt": "Ufer", "ß": 8},
    ]
    assert rows_of(stream) == rows_of(stream) == expected
    assert stream.files == [str(path)]
    assert stream.dialect == {"decimal": ",", "delimiter": ";", "encoding": "cp1252"}
    # a worker on another machine makes its own copy
    close_process_folder()
    assert rows_of(pickle.loads(pickle.dumps(stream))) == expected
    path.write_bytes(text.encode("cp1252") + b"3,5;\xdc\r\n")
    with pytest.raises(InputError, match="2 fields instead of the 3") as caught:
        open_table(path, encoding="cp1252", decimal=",")
    assert (caught.value.file, caught.value.row) == (str(path), 2)


def test_each_file_of_several_has_its_own(tmp_path):
    for name, encoding in (("a", "utf-8"), ("b", "utf-16"), ("c", "cp1252"), ("d", "utf-8-sig")):
        (tmp_path / f"{name}.csv").write_bytes("Größe;n\nlängst;1\n".encode(encoding))
    with pytest.warns(GuessWarning, match=r"c\.csv"):
        stream = open_table(tmp_path / "*.csv")
    assert rows_of(stream) == [{"Größe": "längst", "n": 1}] * 4


def test_a_copy_is_made_once_and_is_gone_with_the_process(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("Größe\n1\n".encode("utf-16"))
    copy = encodings.as_utf8(str(path), "utf-16")
    assert encodings.as_utf8(str(path), "utf-16") == copy
    path.write_bytes("Größe\n1\n2\n".encode("utf-16"))
    other = encodings.as_utf8(str(path), "utf-16")
    assert other != copy
    close_process_folder()
    assert not Path(other).exists()
    assert rows_of(open_table(path)) == [{"Größe": 1}, {"Größe": 2}]


GERMAN = "Größe\nlängst\n"


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (GERMAN.encode("cp1252"), "utf8", "is not UTF-8: byte 0xf6 in line 1; give another"),
        (GERMAN.encode("cp1252"), "cp12520", "'cp12520' is unknown; give one such as"),
        (GERMAN.encode("cp1252"), "hex", "'hex' is unknown"),
        (GERMAN.encode("cp1252"), "ascii", r"is not ascii \(line 1: ordinal not in range"),
        (b"a\nb\n\x81\n", "cp1252", r"is not cp1252 \(line 3: character maps to <undefined>"),
        (GERMAN.encode("utf-16"), "cp1252", "is utf-16; leave encoding='cp1252' out"),
        (GERMAN.encode("utf-16-le"), None, "holds zero bytes.*encoding='utf-16-le'"),
        (GERMAN.encode() * 2 + b"\xe4\n", None, "UTF-8 in most lines.*byte 0xe4 in line 5"),
        (bytes(range(128, 160)) * 9, None, "which encoding it has is not clear"),
    ],
)
def test_what_does_not_fit_is_one_line(content, encoding, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_table(path, encoding=encoding)


def test_utf8_that_is_said_to_be_something_else_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GERMAN.encode())
    with pytest.warns(GuessWarning, match=r"is UTF-8 \(Größe, längst\), but is read as"):
        assert open_table(path, encoding="cp1252").column_names == ["GrÃ¶ÃŸe"]


def test_a_file_like_others_has_their_encoding_if_it_fits(tmp_path, recwarn):
    path = tmp_path / "a.csv"
    of_others = {"encoding": "cp1252"}
    path.write_bytes("x\nKöln\n".encode("cp1252"))
    assert open_table(path, dialect=of_others).dialect == of_others
    path.write_text("x\nKöln\n", encoding="utf-8")
    assert open_table(path, dialect=of_others).dialect == {}
    assert not recwarn
    path.write_bytes(TEXTS["german"][1].encode("mac_roman"))
    with pytest.warns(GuessWarning, match="mac_roman"):
        open_table(path, dialect=of_others)


def test_the_delimiter_of_other_files_holds_where_the_first_line_has_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b (x, y)\n1,5;2,5\n")  # as many commas as semicolons, in the only row
    semicolon = {"decimal": ",", "delimiter": ";"}
    assert open_table(path, dialect=semicolon).column_names == ["a", "b (x, y)"]
    path.write_text('a,b\n"1,5","2,5"\n')
    assert open_table(path, dialect=semicolon).dialect == {"decimal": ","}
    assert rows_of(open_table(path, dialect=semicolon)) == [{"a": 1.5, "b": 2.5}]
    assert rows_of(open_table(path, dialect=semicolon, decimal=".")) == [{"a": "1,5", "b": "2,5"}]
    with pytest.raises(InputError, match="give options of open_table about CSV"):
        open_table(path, dialect={"decimals": ","})
