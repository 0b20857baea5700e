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
    """Change settings of this machine: those of PROFILE, and knobs by name.

    PROFILE is one of deadbeat's (deadbeat tune list) or a TOML file. Before a setting is changed,
    its value is written to the journal; deadbeat tune revert restores it, even after a crash.
    Settings that only a boot can change are printed as words for the kernel's command line.

    Exit status 3: something was refused, or a knob asked for by name is not possible here.""",
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
    """List the profiles and the knobs: what each does, who advises it, and what it costs.""",
    name="list",
)
group.add(
    "tuning:revert",
    "Put back every setting, last first.",
    """Put back every setting that deadbeat changed, last first, to exactly what it was.

    Settings that a restart has reset, or that somebody else has changed since, are left alone and
    reported. Nothing is put back while a measurement holds settings.

    Exit status 3: something was not put back.""",
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
    """Show what is changed and not yet put back, for whom, and whether somebody else changed it
    since.""",
    TARGET,
    _ROOT,
)
