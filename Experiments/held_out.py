#!/usr/bin/env python3
"""Writes traces that nothing here was chosen by, from public data that others have put into repositories.

    git clone https://github.com/curl/curl
    python3 Experiments/held_out.py git curl > git_curl.csv
    replay git_curl.csv --policy learned --sizes unit

What there is, the repository that it comes from, and the commit that the figures of log.md were measured at:

    coop      github.com/GiulioRossetti/tbp-next-basket                  a4c0845b  100 customers of a supermarket chain
    places    github.com/xlwang233/LLM-Mob                               9ace25f7  535 people's stays, no categories
    checkins  github.com/yosrkharrat/Group-recommendation-for-next-poi   8c889dbc  1,665 people's check-ins
    proxy     github.com/ezpaarse-project/ezpaarse-dataset-samples       d2585715  what a research library's proxy served
    college   github.com/lamethods/data                                  7d041ac2  clicks of 14 courses in Moodle
    course    github.com/lamethods/data                                  7d041ac2  clicks of one course (needs openpyxl)
    git       github.com/curl/curl, github.com/rails/rails               5c61e168, 2a2db1e8, up to 2026-08-22
              a history: files that commits wrote, by author, with their folders as categories

None of it is part of this package; what may be done with it, its owners say. Times without a zone are taken for UTC, several
categories are joined by "|", and a size that is not known is 0. An unknown size counts as 1.
"""

import argparse
import csv
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse
import zipfile

EPOCH = datetime.datetime(1970, 1, 1)


def seconds(time):
    return int((time - EPOCH).total_seconds())


def plain(text):
    """A text as one field without separators."""
    return " ".join(str(text).replace("|", "/").replace(",", ";").split())


def table(path, **options):
    with open(path, newline="", encoding=options.pop("encoding", "utf-8"), errors="replace") as file:
        yield from csv.DictReader(file, **options)


def coop(clone):
    """Baskets: the key is a segment of the market, finer than the category; all of a day have one time."""
    folder = clone / "dataset"
    categories = {
        row["COD_MKT_ID"]: f"{plain(row['REPARTO'])}.{plain(row['CATEGORIA'])}"
        for row in table(folder / "coop_categories_map.csv", encoding="latin-1", delimiter=";")
    }
    with zipfile.ZipFile(folder / "coop100.json.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("coop100.json") and not name.startswith("__")]
        lines = io.TextIOWrapper(archive.open(name), encoding="utf-8").readlines()
    for user, line in enumerate(lines, start=1):
        for day, basket in json.loads(line)["data"].items():
            year, month, date, _ = map(int, day.split("_"))
            for item in basket["basket"]:
                yield seconds(datetime.datetime(year, month, date)), item, 0, categories.get(item, "?"), user


def places(clone):
    """Stays: days count from everybody's first; put on the calendar by their day of the week."""
    rows = [row for part in ("train", "valid", "test") for row in table(clone / f"data/fsq/foursquare_{part}.csv")]
    weekday = {row["user_id"]: (int(row["weekday"]) - int(row["start_day"])) % 7 for row in rows}
    start = datetime.datetime(2012, 4, 3)
    for row in rows:
        day = (weekday[row["user_id"]] - start.weekday()) % 7 + int(row["start_day"])
        yield seconds(start) + day * 86_400 + int(row["start_min"]) * 60, row["location_id"], 0, "", row["user_id"]


def checkins(clone):
    """The later part of everybody's check-ins: the earlier one is not in the repository."""
    for part in ("val", "test"):
        for row in table(clone / f"data/lbsn/{part}_LBSN_NYC.csv"):
            time = datetime.datetime.strptime(row["utc_time"][:19], "%Y-%m-%d %H:%M:%S")
            yield seconds(time), row["venue_id"], 0, plain(row["venue_category_name"]), row["user_id"]


def college(clone):
    """Logs of course runs, the newest first in each file; but for one that the measured copy had not."""
    for path in sorted((clone / "2_moodleEdify").glob("Moodle Module *.csv")):
        run = path.name[7:-4]
        if run == "Module 4 SP18":
            continue
        for row in reversed(list(table(path, encoding="utf-8-sig"))):
            user = re.search(r"user with id '(\d+)'", row["Description"], re.IGNORECASE)
            # Three lines are of a 29th of February that there was not.
            if not user or row["Time"].startswith("29/02/18"):
                continue
            year = "%y" if re.match(r"\d+/\d+/\d\d,", row["Time"]) else "%Y"
            time = datetime.datetime.strptime(row["Time"], f"%d/%m/{year}, %H:%M")
            key = f"{run}/{plain(row['Event context'])} / {plain(row['Event name'])}"
            yield seconds(time), key, 0, plain(row["Component"]), user[1]


def course(clone):
    import openpyxl

    (path,) = (clone / "1_moodleLAcourse").glob("Events.xlsx")
    sheet = openpyxl.load_workbook(path, read_only=True).active
    sheet.reset_dimensions()
    rows = sheet.iter_rows(values_only=True)
    place = {name: index for index, name in enumerate(next(rows))}
    for row in rows:
        context, event, component, user, time = (
            row[place[name]] for name in ("Event.context", "Event.name", "Component", "user", "timecreated"))
        time = time if isinstance(time, datetime.datetime) else datetime.datetime.fromisoformat(time)
        yield seconds(time), f"{plain(context)} / {plain(event)}", 0, plain(component), user


LINE = re.compile(r'^(\S+) - (.+?) \[([^\]]+)\] "(\S+) (\S+)(?: [^"]*)?" (\d+) (\d+|-)')
SESSION = re.compile(
    r"(?:^|&)(?:SID|sid|SessionID|sessionid|jsessionid|JSESSIONID|cr_pqid|_dc|crd_rnd|ord|wsid)=|;jsessionid=", re.IGNORECASE)
SIGNATURE = re.compile(r"(?:^|&)(?:_tid|acdnat|_|acct|md5)=[^&]*")
KINDS = {
    ending: kind
    for kind, endings in {
        "script": "js", "style": "css", "image": "sml svg jpg jpeg gif png ico", "pdf": "pdf",
        "font": "woff woff2 ttf otf eot", "data": "json xml txt"}.items()
    for ending in endings.split()
}


def proxy(clone):
    """What could be cached: GET with 200 or 304, no address that names a session. The size is that of the largest answer."""
    rows, sizes = [], {}
    for name in ("medium-sample.log.gz", "small-sample.log.gz"):
        (path,) = clone.rglob(name)
        for line in gzip.open(path, "rt", errors="replace"):
            match = LINE.match(line)
            if not match:
                continue
            address, login, time, method, url, status, size = match.groups()
            parts = urllib.parse.urlsplit(url)
            host = parts.hostname or "?"
            is_own = host.startswith("gate")
            if method != "GET" or status not in ("200", "304") or is_own or SESSION.search(parts.query):
                continue
            if ";jsessionid=" in parts.path.lower():
                continue
            query = SIGNATURE.sub("", parts.query).strip("&")
            key = (host + parts.path + (f"?{query}" if query else "")).replace(",", "%2C").replace('"', "%22")
            ending = re.search(r"\.([a-zA-Z0-9]{1,5})$", parts.path)
            kind = KINDS.get(ending[1].lower(), "page") if ending else "page"
            if status == "200" and size != "-":
                sizes[key] = max(sizes.get(key, 0), int(size))
            time = datetime.datetime.strptime(time[:20], "%d/%b/%Y:%H:%M:%S") - datetime.timedelta(hours=1)
            rows.append((seconds(time), key, f"{host}|{host}/{kind}", address if login == "-" else login))
    for time, key, category, user in rows:
        yield time, key, sizes.get(key, 0), category, user


def git(clone, commit="HEAD"):
    """Files written, not read: no merges, no deletions; all of a commit have one time."""
    def output(*arguments, text=None):
        return subprocess.run(
            ["git", "-c", "core.quotePath=false", "-C", str(clone), *arguments], input=text, stdout=subprocess.PIPE,
            text=True, errors="replace", check=True).stdout.split("\n")

    rows, time, user = [], 0, ""
    for line in output("log", commit, "--reverse", "--no-merges", "--no-renames", "--raw", "--no-abbrev", "--format=C%ct %ae"):
        if line.startswith("C"):
            time, _, author = line[1:].partition(" ")
            user = "a" + hashlib.sha1(author.lower().encode()).hexdigest()[:10]
        elif line.startswith(":"):
            head, _, path = line.partition("\t")
            _, mode, _, blob, change = head.split()
            if change == "D" or mode == "160000":
                continue
            folders = path.split("/")
            category = folders[0] if len(folders) > 1 else "(root)"
            if len(folders) > 2:
                category += "|" + "/".join(folders[:2])
            rows.append((int(time), path.replace(",", "%2C").replace('"', "%22"), blob, category, user))
    blobs = "\n".join(sorted({row[2] for row in rows})) + "\n"
    found = [line.split() for line in output("cat-file", "--batch-check", text=blobs)]
    sizes = {fields[0]: int(fields[2]) for fields in found if len(fields) == 3 and fields[1] == "blob"}
    for time, key, blob, category, user in rows:
        yield time, key, sizes.get(blob, 0), category, user


TRACES = {trace.__name__: trace for trace in (coop, places, checkins, proxy, college, course, git)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", choices=TRACES)
    parser.add_argument("clone", type=pathlib.Path, help="the folder of the repository")
    options = parser.parse_args()
    try:
        rows = sorted(TRACES[options.trace](options.clone), key=lambda row: row[0])
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        sys.exit(f"{options.clone} has not what '{options.trace}' is made from: {error}")
    if not rows:
        sys.exit(f"{options.clone} has nothing that '{options.trace}' is made from.")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["time", "key", "size", "category", "user"])
    writer.writerows(rows[:1_000_000])


if __name__ == "__main__":
    main()
