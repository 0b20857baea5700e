"""``deadbeat tune``: settings of the machine, and the way back. What its commands do: `tuning`."""

from __future__ import annotations

from deadbeat.cli._options import RT_CPUS, TARGET, Verbs, arg, opt

_ROOT = opt(
    "--root FOLDER",
    "Use the kernel's files below FOLDER, a made-up machine, instead of this machine's.",
)

group = Verbs(
    name="tune",
    help="""Change settings of this machine for real-time work, and put them back exactly.

Start with: deadbeat tune apply realtime --dry-run""",
)

group.add(
    "tuning:apply",
    "Change settings: those of a profile, or knobs by name.",
    arg("profile", "[PROFILE]", required=False),
    opt(
        "--knob NAME[=VALUE]",
        "Change this setting (see deadbeat tune list) to VALUE; may be repeated.",
        to="knobs",
        multiple=True,
    ),
    RT_CPUS,
    opt("--dry-run", "Show what would change, and change nothing."),
    opt(
        "--accept-irreversible",
        "Change settings that cannot be fully restored, too; they are listed.",
    ),
    TARGET,
    _ROOT,
)
group.add(
    "tuning:listed",
    "List the profiles and the knobs.",
    name="list",
)
group.add(
    "tuning:revert",
    "Put back every setting, last first.",
    opt(
        "--force",
        "Put back settings changed by others or by a restart since, or held by a running"
        " measurement, too; forget what no longer exists.",
    ),
    TARGET,
    _ROOT,
)
group.add(
    "tuning:status",
    "Show what is changed and not yet put back.",
    TARGET,
    _ROOT,
)
