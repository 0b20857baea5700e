bpftool prog show
