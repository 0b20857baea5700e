"""Which commit changed a figure of a program: seeks among its commits, and proves it."""
