#!/usr/bin/python3
"""Pages of `assay report` in headless Chromium: browser_check.py ASSAY [FOLDER FOR SCREENSHOTS].

Exits 77, and says why, where there is no Chromium.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import browser
import make_results

MOST_BYTES = 5_000_000
MOST_SECONDS = 10  # on a busy machine; two are meant
TABLE = "#rows ~ .grid"


def report(assay, folder, name, *arguments):
    page = folder / f"{name}.html"
    subprocess.run([assay, "report", *arguments, "--html", page], check=True, cwd=folder)
    return page


def cells(b, column, table=TABLE):
    """The texts of a column of the rows that are drawn."""
    return b.run(f"[...document.querySelectorAll('{table} tbody tr[data-row]')].map(r => r.children[{column}].innerText.trim())")


def status(b, table=TABLE):
    return b.run(f"document.querySelector('{table} .status').textContent")


def well(b):
    complaints = b.complaints()
    assert not complaints, complaints


def type_filter(b, text, table=TABLE):
    b.run(f"(() => {{ const i = document.querySelector('{table} input[type=search]'); i.value = {text!r};"
          " i.dispatchEvent(new Event('input')); })()")


def sort_by(b, key, table=TABLE):
    b.run(f"document.querySelector('{table} th[data-key={key}] button').click()")


def table_works(b, page):
    b.open(page)
    assert b.run("document.querySelector('h1').innerText").startswith("✕ FAILED")
    assert status(b) == "600 rows", status(b)
    # Worst first, without being asked.
    assert "pass" not in cells(b, 3)[0] and "not run" not in cells(b, 3)[0], cells(b, 3)[0]

    sort_by(b, "cases")
    numbers = [int(c.replace(",", "")) for c in cells(b, 5)]
    assert numbers == sorted(numbers, reverse=True), numbers
    b.run(f"document.querySelector('{TABLE} th[data-key=op] button').focus()")
    b.key("Enter", 13)  # sorts by keyboard
    names = cells(b, 0)
    assert names == sorted(names) and b.run(f"document.querySelector('{TABLE} th[data-key=op]').ariaSort") == "ascending", names
    b.key("Enter", 13)
    assert cells(b, 0)[0] == "operator_9.variant", cells(b, 0)[0]

    type_filter(b, "TORCH f32")
    assert set(cells(b, 1)) == {"torch"} and set(cells(b, 2)) == {"f32"} and status(b) == "12 of 600 rows", status(b)
    type_filter(b, "nothing has this")
    assert cells(b, 0) == [] and status(b) == "0 of 600 rows"
    type_filter(b, "")
    b.run(f"document.querySelector('{TABLE} input[data-state=pass]').click()")
    shown = int(status(b).split()[0])
    assert 0 < shown < 600 and not any("pass" in c for c in cells(b, 3)), shown
    well(b)


def links_work(b, page):
    b.open(page, "#r:operator_11.variant:onednn.avx2:bf16")
    seen = b.run("""(() => { const r = document.querySelector('.grid tr.selected'); if (!r) return null;
        const a = r.getBoundingClientRect(), v = r.closest('.view').getBoundingClientRect();
        return [r.innerText, a.top >= v.top && a.bottom <= v.bottom && a.bottom <= innerHeight, document.querySelector('#detail').hidden]; })()""")
    assert seen and "operator_11.variant" in seen[0] and "bf16" in seen[0] and seen[1:] == [True, False], seen
    b.key("Escape", 27)
    assert b.run("document.querySelector('#detail').hidden && location.hash === ''")
    # From the matrix to the rows of an operator, and from a fault to its row.
    b.run("document.querySelector('.matrix tbody th a').click()")
    b.wait(f"document.querySelector('{TABLE} .status').textContent === '50 of 600 rows'", 10)
    b.run("document.querySelector('.fault .to').click()")
    b.wait("!document.querySelector('#detail').hidden && document.querySelector('#detail .command') !== null", 10)
    well(b)


def prints(b, page, folder):
    b.open(page)
    b.call("Emulation.setEmulatedMedia", media="print")
    assert b.run("getComputedStyle(document.querySelector('.tools')).display === 'none'")
    assert b.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    closed = "[...document.querySelectorAll('details:not([open])')]"
    assert b.run(f"{closed}.length > 0 && {closed}.every(d => d.lastElementChild.getBoundingClientRect().height > 0)"), "without a script"
    b.run("dispatchEvent(new Event('beforeprint'))")
    assert len(cells(b, 0)) == 600, "all rows are printed"
    assert b.run(f"{closed}.length === 0"), "what is closed is printed, too"
    b.run("dispatchEvent(new Event('afterprint'))")
    assert b.run(f"{closed}.length > 0"), "as they were before"
    b.call("Emulation.setEmulatedMedia", media="")
    b.pdf(folder / "print.pdf")
    assert (folder / "print.pdf").read_bytes().startswith(b"%PDF")
    well(b)


def colours(b, page):
    b.open(page)
    b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = b.run(ground)
    assert dark != "rgb(255, 255, 255)", dark
    b.run("document.getElementById('theme').click()")  # auto, then light
    assert b.run(ground) == "rgb(255, 255, 255)"
    b.run("document.getElementById('theme').click()")
    assert b.run(ground) == dark
    b.run("document.getElementById('theme').click()")
    b.call("Emulation.setEmulatedMedia", features=[])
    well(b)


def hostile_names_are_text(b, page):
    b.open(page)
    assert b.run("window.broken === undefined && document.querySelectorAll('img').length === 0")
    assert "<img src=x" in b.run("document.querySelector('.fault h4').innerText")
    b.run(f"document.querySelector('{TABLE} tbody tr a').click()")
    b.wait("!document.querySelector('#detail').hidden", 10)
    assert "<img src=x" in b.run("document.querySelector('#detail').innerText") and b.run("document.querySelectorAll('img').length === 0")
    b.open(page, b.run("location.hash"))
    assert b.run("!document.querySelector('#detail').hidden"), "the address of a hostile name leads back to it"
    well(b)
    # Markup that got in would be held by the policy all the same.
    b.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.broken = 1\">')")
    b.run("new Promise(done => setTimeout(done, 200))")
    assert b.run("window.broken === undefined") and any("Content Security Policy" in c for c in b.complaints())


def performance_works(b, page):
    table = "#measurements ~ .grid"
    b.open(page)
    assert "2 regressions" in b.run("document.querySelector('h1').innerText")
    assert b.run("document.querySelectorAll('figure svg .point').length") > 20
    assert b.run("document.querySelectorAll('figure svg .ceiling').length") == 10
    assert b.run("document.querySelectorAll('.heat td[class]').length") == 84
    assert b.run(f"document.querySelectorAll('{table} tbody svg .spark').length") > 5
    sort_by(b, "share", table)
    shares = [float(c.rstrip("%")) for c in cells(b, 8, table) if c]
    assert len(shares) > 10 and shares == sorted(shares, reverse=True), shares
    b.run("document.querySelector('figure svg a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    b.wait("!document.querySelector('#detail').hidden && document.querySelector('#detail svg .spark') !== null", 10)
    well(b)


def many_rows(b, page, table, name):
    size, seconds = page.stat().st_size, b.open(page)
    print(f"{name}: {size / 1e6:.2f} MB, open in {seconds:.2f} s")
    assert size < MOST_BYTES and seconds < MOST_SECONDS
    assert status(b, table).startswith("100,000 "), status(b, table)
    drawn = len(cells(b, 0, table))
    assert 10 < drawn < 200, drawn
    b.run(f"document.querySelector('{table} .view').scrollTop = 1.5e6")
    b.wait(f"document.querySelector('{table} tbody tr[data-row]').ariaRowIndex > 40000", 10)
    type_filter(b, "operator_77", table)
    assert 0 < len(cells(b, 0, table)) and all("operator_77" in c for c in cells(b, 0, table))
    well(b)


def main():
    if browser.PROGRAM is None:
        print("skipped: there is no chromium on this machine (apt install chromium)")
        sys.exit(77)
    assay = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="assay-report-") as f:
        folder = Path(f)
        make_results.write_all(folder)
        pages = {"small": report(assay, folder, "small", "small.json", "selftest.json"),
                 "hostile": report(assay, folder, "hostile", "hostile.json", "--title", make_results.HOSTILE),
                 "bench": report(assay, folder, "bench", "bench.json", "--history", "history.json"),
                 "large": report(assay, folder, "large", "large.json"),
                 "large_bench": report(assay, folder, "large_bench", "large_bench.json")}
        for name, page in pages.items():
            text = page.read_text()
            assert not re.search(r"(src|href)=\"?(https?:)?//|url\(|@import", text), f"{name} needs a network"
        with browser.Browser() as b:
            table_works(b, pages["small"])
            links_work(b, pages["small"])
            prints(b, pages["small"], folder)
            colours(b, pages["small"])
            hostile_names_are_text(b, pages["hostile"])
            performance_works(b, pages["bench"])
            many_rows(b, pages["large"], TABLE, "a run of 100,000 rows")
            many_rows(b, pages["large_bench"], "#measurements ~ .grid", "100,000 measurements")
            if len(sys.argv) > 2:
                for name in ("small", "bench"):
                    for width, scheme in ((1400, "light"), (1400, "dark"), (420, "light")):
                        b.resize(width, 900)
                        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                        b.open(pages[name])
                        b.screenshot(Path(sys.argv[2]) / f"{name}-{scheme}-{width}.png", whole=True)
    print("ok")


if __name__ == "__main__":
    main()
