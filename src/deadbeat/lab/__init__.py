"""Boots kernels in virtual machines: fetched packages, an initramfs, a job, what it collected."""
