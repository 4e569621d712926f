"""What only a wheel shows."""

import re
from importlib.metadata import files, version

import herma


def test_the_package_says_its_version_and_brings_its_licences():
    assert herma.__version__ == version("herma") and re.fullmatch(r"\d+\.\d+\.\d+", herma.__version__)
    names = {file.name for file in files("herma") or ()}
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= names
