// SPDX-License-Identifier: AGPL-3.0-or-later

// Command netstack is machines on the far side of the tunnel that need no privilege: the WireGuard
// device of golang.zx2c4.com with the TCP of gVisor behind it.
//
// It reads JSON from standard input, a line each: first an array of configurations, one a machine,
// then commands, which all machines carry out at once. Each line is answered with one line: "ok",
// or what went wrong first.
//
//   - "listen": echoes every connection to a port;
//   - "send": sends bytes to an address, checks that they come back, and says "ok";
//   - "line": sends text to an address and closes, as a log does.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/netstack"
)

const mtu = 1280

type configuration struct {
	PrivateKey      string `json:"privateKey"`
	ServerPublicKey string `json:"serverPublicKey"`
	ServerAddress   string `json:"serverAddress"`
	Endpoint        string `json:"endpoint"`
	Address         string `json:"address"`
}

type command struct {
	Kind    string `json:"kind"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	Bytes   int    `json:"bytes"`
	Text    string `json:"text"`
}

func main() {
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return io.ErrUnexpectedEOF
	}
	var configs []configuration
	if err := json.Unmarshal(lines.Bytes(), &configs); err != nil {
		return err
	}
	stacks := make([]*netstack.Net, 0, len(configs))
	for _, config := range configs {
		stack, dev, err := start(config)
		if err != nil {
			return err
		}
		defer dev.Close()
		stacks = append(stacks, stack)
	}
	fmt.Println("ok")
	for lines.Scan() {
		var next command
		err := json.Unmarshal(lines.Bytes(), &next)
		if err == nil {
			err = executeAll(stacks, next)
		}
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
	return lines.Err()
}

func executeAll(stacks []*netstack.Net, next command) error {
	results := make(chan error, len(stacks))
	for _, stack := range stacks {
		go func() { results <- execute(stack, next) }()
	}
	var first error
	for range stacks {
		if err := <-results; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func start(config configuration) (*netstack.Net, *device.Device, error) {
	address, err := netip.ParseAddr(config.Address)
	if err != nil {
		return nil, nil, err
	}
	tun, stack, err := netstack.CreateNetTUN([]netip.Addr{address}, nil, mtu)
	if err != nil {
		return nil, nil, err
	}
	// Its own logger writes where the answers go.
	logger := &device.Logger{
		Verbosef: device.DiscardLogf,
		Errorf:   func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	dev := device.NewDevice(tun, conn.NewDefaultBind(), logger)
	// The interface brings the device up by itself, at some moment. One that gets its peer in between
	// begins a handshake before it has its sockets, and tries again only after 5 s.
	if err := dev.Up(); err != nil {
		return nil, nil, err
	}
	settings := fmt.Sprintf(
		"private_key=%s\npublic_key=%s\nallowed_ip=%s/128\nendpoint=%s\npersistent_keepalive_interval=25\n",
		hexKey(config.PrivateKey), hexKey(config.ServerPublicKey), config.ServerAddress, config.Endpoint,
	)
	if err := dev.IpcSet(settings); err != nil {
		return nil, nil, err
	}
	return stack, dev, nil
}

func hexKey(text string) string {
	key, _ := base64.StdEncoding.DecodeString(text)
	return hex.EncodeToString(key)
}

func execute(stack *netstack.Net, next command) error {
	switch next.Kind {
	case "listen":
		listener, err := stack.ListenTCP(&net.TCPAddr{Port: next.Port})
		if err != nil {
			return err
		}
		go serve(listener)
		return nil
	case "send":
		return send(stack, next)
	case "line":
		connection, err := dial(stack, next)
		if err != nil {
			return err
		}
		defer connection.Close()
		_, err = io.WriteString(connection, next.Text+"\n")
		return err
	}
	return fmt.Errorf("unknown command %q", next.Kind)
}

func serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	}
}

func dial(stack *netstack.Net, next command) (net.Conn, error) {
	address, err := netip.ParseAddr(next.Address)
	if err != nil {
		return nil, err
	}
	return stack.DialTCPAddrPort(netip.AddrPortFrom(address, uint16(next.Port)))
}

func send(stack *netstack.Net, next command) error {
	connection, err := dial(stack, next)
	if err != nil {
		return err
	}
	defer connection.Close()
	data := make([]byte, next.Bytes)
	for i := range data {
		data[i] = byte(i*7 + i>>8 + i>>16)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := connection.Write(data)
		if half, ok := connection.(interface{ CloseWrite() error }); ok && err == nil {
			err = half.CloseWrite()
		}
		failed <- err
	}()
	received, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	if !bytes.Equal(received, data) {
		return fmt.Errorf("%d bytes came back that are not the %d that went", len(received), len(data))
	}
	return nil
}
