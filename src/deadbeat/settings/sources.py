"""Where the advice of the checks comes from, written out; a check adds the place in it."""

from __future__ import annotations

#: The kernel's own documents.
KERNEL_CONFIGURATION = "Linux Documentation/core-api/real-time/kernel-configuration.rst"
HARDWARE = "Linux Documentation/core-api/real-time/hardware.rst"
CPU_ISOLATION = "Linux Documentation/admin-guide/cpu-isolation.rst"
PER_CPU_KTHREADS = "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst"
KERNEL_PARAMETERS = "Linux Documentation/admin-guide/kernel-parameters.txt"
SYSCTL_KERNEL = "Linux Documentation/admin-guide/sysctl/kernel.rst"
SYSCTL_VM = "Linux Documentation/admin-guide/sysctl/vm.rst"
NET_SCALING = "Linux Documentation/networking/scaling.rst"
NO_HZ = "Linux Documentation/timers/no_hz.rst"
#: Distributions and vendors.
TUNED_REALTIME = "tuned profiles realtime, network-latency, latency-performance"
TUNED_PARTITIONING = "tuned profile cpu-partitioning"
RHEL_REALTIME = "Red Hat, Optimizing RHEL for Real Time for low latency operation"
UBUNTU_REALTIME = "Ubuntu, Real-time Ubuntu documentation"
INTEL_ECI = "Intel, Edge Controls for Industrial, Linux OS runtime optimizations"
CONGATEC = "congatec AN40, BIOS settings for real-time"
REALTIME_SETUP = "Red Hat realtime-setup"
RTCQS = "rtcqs, real-time configuration quick scan"
KSPP = "Kernel Self-Protection Project, recommended settings"
