"""A model of a stream, and a server of it in this process."""

import pytest

import crossview
from live_servers import make_model, serving


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "m.safetensors"
    crossview.save(make_model(), file)
    return file


@pytest.fixture
def server(tmp_path, model_file):
    with serving(tmp_path, model_file) as client:
        yield client
