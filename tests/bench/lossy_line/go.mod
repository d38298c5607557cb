module batuta.altlinux.org/tests/bench/lossy_line

go 1.26.5
