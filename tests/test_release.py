"""What is released: the files of wheel and sdist, and the versions of the conda recipe."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# where conda calls a package otherwise than PyPI does
OF_CONDA = {
    "duckdb": "python-duckdb",
    "matplotlib": "matplotlib-base",
    "xxhash": "python-xxhash",
}


def required(extra):
    """The requirements of an extra with those of other extras that it names, by conda's names."""
    found = {}
    for one in map(Requirement, PROJECT["optional-dependencies"][extra]):
        if one.name == "crossview":
            for other in one.extras:
                found |= required(other)
        else:
            found[OF_CONDA.get(one.name, one.name)] = str(one.specifier)
    return found


def test_the_conda_recipe_requires_what_the_package_does():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    own = {one.name: str(one.specifier) for one in map(Requirement, PROJECT["dependencies"])}
    expected = {"python": PROJECT["requires-python"], **own, **required("report")}
    found = dict(line.split(" ") for line in recipe["requirements"]["run"])
    assert found == expected
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The names of the files in the wheel and the sdist of this checkout."""
    hatchling = pytest.importorskip("hatchling.build")
    pytest.importorskip("hatch_vcs")
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("SETUPTOOLS_SCM_PRETEND_VERSION", "1.0")
        wheel, sdist = hatchling.build_wheel(str(folder)), hatchling.build_sdist(str(folder))
    with zipfile.ZipFile(folder / wheel) as wheel, tarfile.open(folder / sdist) as sdist:
        return set(wheel.namelist()), {name.partition("/")[2] for name in sdist.getnames()}


def test_the_wheel_has_what_the_package_reads_and_nothing_compiled(built):
    names, _ = built
    source = ROOT / "src"
    for kind in ("__init__.pyi", "py.typed", "*.html", "*.css", "*.js", "*.toml", "*.py"):
        files = {str(path.relative_to(source)) for path in source.rglob(kind)}
        assert files, kind
        assert files <= names, files - names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]
    assert {name.partition("/")[0] for name in names} == {"crossview", "crossview-1.0.dist-info"}


def test_the_sdist_has_the_tests_and_no_data(built):
    _, names = built
    assert {"pyproject.toml", "LICENSE", "tests/test_release.py", "src/crossview/py.typed"} <= names
    kinds = {Path(name).suffix for name in names}
    assert not kinds & {".parquet", ".csv", ".npz", ".gz", ".zip", ".safetensors", ".onnx", ".nbc"}
