// SPDX-License-Identifier: AGPL-3.0-or-later

// A line between two TUN interfaces with the faults of link/testing_network.ts: the same order of
// decisions on the same random numbers, in real time. It never sleeps, because a late packet is a
// fault too, and therefore takes a core.
//
// `line A B` prints "ready" once both interfaces are there and ends when its input does;
// `sink ADDRESS` and `send ADDRESS BYTES` are the two ends of a transfer over the kernel's TCP.
package main

import (
	"container/heap"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// What WireGuard adds to a packet: header and tag.
const overhead = 32

var (
	loss      = flag.Float64("loss", 0, "part of all packets")
	duplicate = flag.Float64("duplicates", 0, "part of all packets")
	reordered = flag.Float64("reordered", 0, "part of all packets")
	delayMs   = flag.Float64("delay", 0, "each way, in ms")
	rate      = flag.Float64("rate", 0, "bytes a second, each way")
	queue     = flag.Float64("queue", 1e9, "packets that wait for the line")
	seed      = flag.Uint("seed", 1, "of the random numbers")

	congestion = flag.String("congestion", "cubic", "congestion control of sink and send")
)

type event struct {
	atMs   float64
	order  int
	packet []byte
	to     int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].atMs < e[j].atMs || (e[i].atMs == e[j].atMs && e[i].order < e[j].order)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// mulberry32, as in link/testing.ts.
func random() func() float64 {
	state := uint32(*seed)
	return func() float64 {
		state += 0x6d2b79f5
		t := (state ^ (state >> 15)) * (state | 1)
		t ^= t + (t^(t>>7))*(t|61)
		return float64(t^(t>>14)) / (1 << 32)
	}
}

func openTun(name string) int {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		fail("open /dev/net/tun", err)
	}
	var request [40]byte
	copy(request[:15], name)
	// IFF_TUN | IFF_NO_PI
	request[16], request[17] = 0x01, 0x10
	const setInterface = 0x400454ca
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), setInterface,
		uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		fail("create "+name, errno)
	}
	return fd
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "Cannot %s: %v\n", what, err)
	os.Exit(1)
}

func main() {
	flag.Parse()
	var err error
	switch command := flag.Arg(0); command {
	case "line":
		line(flag.Arg(1), flag.Arg(2))
	case "sink":
		err = sink(flag.Arg(1))
	case "send":
		var size int
		if size, err = strconv.Atoi(flag.Arg(2)); err == nil {
			err = send(flag.Arg(1), size)
		}
	default:
		err = fmt.Errorf("there is no command %q", command)
	}
	if err != nil {
		fail(flag.Arg(0), err)
	}
}

func line(a, b string) {
	fds := [2]int{openTun(a), openTun(b)}
	fmt.Println("ready")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	run(fds)
}

func run(fds [2]int) {
	next := random()
	start := time.Now()
	nowMs := func() float64 { return float64(time.Since(start).Nanoseconds()) / 1e6 }
	var waiting events
	var lineFreeMs [2]float64
	order := 0
	deliver := func(packet []byte, to int, atMs float64) {
		heap.Push(&waiting, event{atMs, order, packet, to})
		order++
	}
	send := func(packet []byte, from int) {
		lineMs := 0.0
		if *rate > 0 {
			lineMs = float64(len(packet)+overhead) * 1000 / *rate
		}
		now := nowMs()
		waitMs := max(0, lineFreeMs[from]-now)
		isFull := lineMs > 0 && waitMs/lineMs > *queue
		if isFull || next() < *loss {
			return
		}
		lineFreeMs[from] = now + waitMs + lineMs
		extraMs := 0.0
		if next() < *reordered {
			extraMs = 5*next() + *delayMs/4
		}
		deliver(packet, 1-from, now+waitMs+lineMs+*delayMs+extraMs)
		if next() < *duplicate {
			deliver(packet, 1-from, now+waitMs+lineMs+*delayMs+0.1)
		}
	}
	buffer := make([]byte, 65536)
	for {
		for from, fd := range fds {
			// An interface that is not up yet answers with an error, which passes.
			if n, err := syscall.Read(fd, buffer); err == nil && n > 0 {
				send(append([]byte(nil), buffer[:n]...), from)
			}
		}
		for len(waiting) > 0 && waiting[0].atMs <= nowMs() {
			due := heap.Pop(&waiting).(event)
			_, _ = syscall.Write(fds[due.to], due.packet)
		}
	}
}
