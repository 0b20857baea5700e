"""A terminal in place of stdout, for tests of what people see."""

import io

import pyte


class Terminal(io.StringIO):
    """A terminal in place of stdout."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def screen(self, columns: int, rows: int) -> list[str]:
        """What a terminal of this size shows in the end."""
        screen = pyte.Screen(columns, rows)
        pyte.Stream(screen).feed(self.getvalue().replace("\n", "\r\n"))
        return [line.rstrip() for line in screen.display]
