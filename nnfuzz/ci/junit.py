"""JUnit XML, as Jenkins, GitLab, GitHub's actions and Ant's own schema read it."""

from __future__ import annotations

from datetime import datetime
from xml.etree import ElementTree

from nnfuzz.ci.report import Report, printable, safe
from nnfuzz.records import Finding


def junit(report: Report, now: datetime | None = None) -> str:
    """One test case for each condition of the gate, and one for each group of findings: a failure, or skipped if
    the gate lets it pass."""
    root = ElementTree.Element("testsuites")
    # Ant's schema wants package, id and hostname, an ISO date without a zone, and both system- elements.
    suite = ElementTree.SubElement(root, "testsuite", {
        "name": printable(report.suite) or "nnfuzz", "package": "nnfuzz", "id": "0", "hostname": "localhost",
        "timestamp": f"{now or datetime.now():%Y-%m-%dT%H:%M:%S}", "errors": "0",
    })  # fmt: skip
    _properties(suite, report)
    _conditions(suite, report)
    for finding, size in report.groups:
        _finding(suite, report, finding, size)
    for name in ("system-out", "system-err"):
        ElementTree.SubElement(suite, name)
    counts = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    suite.set("time", f"{report.result['seconds']:.3f}")
    ElementTree.indent(root)
    return "<?xml version='1.0' encoding='UTF-8'?>\n" + ElementTree.tostring(root, encoding="unicode") + "\n"


def _properties(suite: ElementTree.Element, report: Report) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    values = {name: value for name, value in report.result.items() if isinstance(value, str | int | float)}
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": safe(str(value))})


def _case(suite: ElementTree.Element, name: str, kind: str, seconds: float = 0.0) -> ElementTree.Element:
    classname = f"nnfuzz.{kind}"
    return ElementTree.SubElement(suite, "testcase", name=name, classname=classname, time=f"{seconds:.3f}")


def _conditions(suite: ElementTree.Element, report: Report) -> None:
    actual = {failed.condition: failed for failed in report.failed}
    for condition in report.conditions:
        case = _case(suite, str(condition), "gate")
        if condition in actual:
            message = f"the gate fails: {actual[condition]}"
            ElementTree.SubElement(case, "failure", type="gate", message=message).text = message
        elif report.interrupted:
            ElementTree.SubElement(case, "skipped", message="not judged: the run was interrupted")


def _finding(suite: ElementTree.Element, report: Report, finding: Finding, size: int) -> None:
    case = _case(suite, f"finding {finding.id}: {finding.kind}", "finding", finding.seconds)
    message = report.said(finding)
    if report.tolerated:
        ElementTree.SubElement(case, "skipped", message=f"let pass by the gate: {message}")
        return
    lines = [message, f"image: {report.image(finding)}"]
    lines += [f"group: {size} findings like this one"] * (size > 1)
    lines += [f"made by: {', '.join(map(str, finding.mutations))}"] * bool(finding.mutations)
    lines += [f"not confirmed: the same {finding.repeated} of {finding.asked} times"] * (not finding.confirmed)
    lines += ["doubtful: independent models no longer read the label"] * (finding.doubtful is True)
    if command := report.replay(finding):
        lines.append(f"again: {command}")
    ElementTree.SubElement(case, "failure", type=finding.kind, message=message).text = safe("\n".join(lines))
