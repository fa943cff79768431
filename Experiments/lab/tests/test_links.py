"""The checks of links and of cited tests in documents, on pages with and without broken ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import ROOT


def check(page: Path, text: str, script: str = "check-links") -> subprocess.CompletedProcess[str]:
    page.write_text(text, encoding="utf-8")
    return subprocess.run([str(ROOT / ".ci" / script), str(page)], capture_output=True, text=True)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a](missing.md)\n", "page.md:1: missing.md: there is no committed file missing.md"),
        ("# One\n\n[a](#two)\n", "page.md:3: #two: page.md has no heading with this anchor"),
        (f"[a]({ROOT}/LICENSE) [b\nc]({ROOT}/CONTRIBUTING.md#no-such)\n", "page.md:2: "),
        ("# A\n\n# A\n\n[a](#a-2)\n", "page.md:5: #a-2"),
        ("see [a][b]\n", "page.md:1: the link [b] is not defined"),
        ("[b]: missing.png\n", "page.md:1: missing.png"),
        ("![a](missing.svg 'title')\n", "page.md:1: missing.svg"),
        ("see `docs/missing`\n", "page.md:1: there is no committed file docs/missing"),
        ("\nsee `Policies/MISSING.swift`\n", "page.md:2: there is no committed file Policies/MISSING.swift"),
    ],
)
def test_a_broken_link_fails_with_its_line(page: Path, text: str, sentence: str) -> None:
    done = check(page, text)
    assert done.returncode == 1
    assert sentence in done.stderr and done.stderr.endswith("check-links: 1 broken link\n")


@pytest.mark.parametrize(
    "text",
    [
        "# What `a-b` is: *it*, 5 %?\n\n[a](#what-a-b-is-it-5-)\n",
        "# A\n\n# A\n\n[a](#a) [b](#a-1)\n",
        "`[a](missing.md)`\n\n```\n[a](missing.md)\n```\n\n    [a](missing.md)\n",
        f"[a](https://example.org/missing) [b](mailto:a@b) [c]({ROOT}/Sources) [d]({ROOT}/LICENSE)\n",
        f"[a][b]\n\n[b]: <{ROOT}/LICENSE>\n",
        "`LRU.swift`, `Policies/LRU.swift`, `docs/`, `Experiments/<suite>/a.yml`, `python missing.py`, `missing.csv`\n",
    ],
)
def test_links_with_a_target_and_code_pass(page: Path, text: str) -> None:
    done = check(page, text)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_that_is_not_committed_is_no_target(page: Path) -> None:
    (page.parent / "other.md").write_text("# There\n")
    assert check(page, "[a](other.md)\n").returncode == 1


@pytest.mark.parametrize("cited", ["SinceTests.nothing()", "DiskStorageTests.nothing", "NoSuchTests"])
def test_a_cited_test_that_does_not_exist_fails(page: Path, cited: str) -> None:
    done = check(page, f"# A\n\nSee `DiskStorageTests` and `{cited}`.\n", "check-cited-tests")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{page}:3: there is no test {cited.removesuffix('()')}\n")
