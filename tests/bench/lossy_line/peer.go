// SPDX-License-Identifier: AGPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Only a socket's own option may choose what the system does not offer to everybody.
func control(_, _ string, connection syscall.RawConn) error {
	var failed error
	err := connection.Control(func(fd uintptr) {
		failed = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION,
			*congestion)
	})
	if err != nil {
		return err
	}
	return failed
}

// Reads each connection to its end and answers with one byte.
func sink(address string) error {
	config := net.ListenConfig{Control: control}
	listener, err := config.Listen(context.Background(), "tcp6", address)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, connection)
		_, _ = connection.Write([]byte{0})
		_ = connection.Close()
	}
}

// Prints how many ms it took until the sink had everything and its byte was here.
func send(address string, size int) error {
	start := time.Now()
	dialer := net.Dialer{Control: control}
	connection, err := dialer.Dial("tcp6", address)
	if err != nil {
		return err
	}
	if _, err := connection.Write(make([]byte, size)); err != nil {
		return err
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		return err
	}
	fmt.Println(float64(time.Since(start).Microseconds()) / 1000)
	return nil
}
