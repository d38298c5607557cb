// SPDX-License-Identifier: AGPL-3.0-or-later

// Command rpc_peer is the Go side of the transport benchmark: a server that does
// nothing but gRPC, and the client that measures any server with the same methods.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const maxMessage = 64 << 20

// rawCodec passes bytes through.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

var reply = make([]byte, 560)

// number reads the first four bytes of a request.
func number(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(b))
}

func serve(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	unary := func(name string, f func([]byte) []byte) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var in []byte
			if err := dec(&in); err != nil {
				return nil, err
			}
			out := f(in)
			return &out, nil
		}}
	}
	stream := func(name string, f func(int, grpc.ServerStream) error) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			var in []byte
			if err := s.RecvMsg(&in); err != nil {
				return err
			}
			return f(number(in), s)
		}}
	}
	small := make([]byte, 32)
	s := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Rpc",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("Get", func([]byte) []byte { return reply }),
			unary("Download", func(in []byte) []byte { return make([]byte, number(in)) }),
		},
		Streams: []grpc.StreamDesc{
			stream("Count", func(n int, s grpc.ServerStream) error {
				for range n {
					if err := s.SendMsg(&small); err != nil {
						return err
					}
				}
				return nil
			}),
			stream("Hang", func(_ int, s grpc.ServerStream) error {
				if err := s.SendMsg(&small); err != nil {
					return err
				}
				<-s.Context().Done()
				return nil
			}),
		},
	}, struct{}{})
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return s.Serve(l)
}

type result struct {
	Rate  float64 `json:"rate"`
	P50us float64 `json:"p50us"`
	P99us float64 `json:"p99us"`
}

func report(elapsed time.Duration, latencies []time.Duration, units int) {
	slices.Sort(latencies)
	at := func(q float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return float64(latencies[int(q*float64(len(latencies)-1))].Nanoseconds()) / 1000
	}
	_ = json.NewEncoder(os.Stdout).Encode(result{float64(units) / elapsed.Seconds(), at(0.5), at(0.99)})
}

func request(n, size int) []byte {
	b := make([]byte, max(4, size))
	binary.BigEndian.PutUint32(b, uint32(n))
	return b
}

func unary(c *grpc.ClientConn, workers int, length time.Duration, method string, in []byte) error {
	var stop atomic.Bool
	var failed atomic.Pointer[error]
	all := make([][]time.Duration, workers)
	started := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				var out []byte
				t := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				err := c.Invoke(ctx, "/bench.Rpc/"+method, &in, &out)
				cancel()
				if err != nil {
					failed.Store(&err)
					return
				}
				all[w] = append(all[w], time.Since(t))
			}
		}()
	}
	time.Sleep(length)
	stop.Store(true)
	wg.Wait()
	elapsed := time.Since(started)
	if err := failed.Load(); err != nil {
		return *err
	}
	latencies := slices.Concat(all...)
	report(elapsed, latencies, len(latencies))
	return nil
}

var streamDesc = &grpc.StreamDesc{ServerStreams: true}

func open(c *grpc.ClientConn, method string, in []byte) (grpc.ClientStream, error) {
	s, err := c.NewStream(context.Background(), streamDesc, "/bench.Rpc/"+method)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(&in); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

func count(c *grpc.ClientConn, n int) error {
	started := time.Now()
	s, err := open(c, "Count", request(n, 4))
	if err != nil {
		return err
	}
	seen := 0
	for {
		var out []byte
		if err := s.RecvMsg(&out); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		seen++
	}
	if seen != n {
		return fmt.Errorf("got %d messages of %d", seen, n)
	}
	report(time.Since(started), nil, n)
	return nil
}

// hang opens idle streams, 1,000 on a connection, says so, and holds them until
// standard input ends.
func hang(addr string, n int) error {
	var c *grpc.ClientConn
	for i := range n {
		if i%1000 == 0 {
			next, err := dial(addr)
			if err != nil {
				return err
			}
			c = next
		}
		s, err := open(c, "Hang", request(0, 4))
		if err != nil {
			return err
		}
		var out []byte
		if err := s.RecvMsg(&out); err != nil {
			return err
		}
	}
	fmt.Println("{}")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// sessions opens idle connections that have each made a call, says so, and
// holds them until standard input ends.
func sessions(addr string, n int) error {
	in := request(0, 60)
	for range n {
		c, err := dial(addr)
		if err != nil {
			return err
		}
		var out []byte
		if err := c.Invoke(context.Background(), "/bench.Rpc/Get", &in, &out); err != nil {
			return err
		}
	}
	fmt.Println("{}")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
}

func main() {
	listen := flag.String("serve", "", "address to serve on")
	addr := flag.String("addr", "", "server to measure")
	name := flag.String("case", "unary", "unary, count, upload, download, streams or sessions")
	workers := flag.Int("workers", 1, "calls in flight")
	n := flag.Int("n", 1000000, "messages of a stream, idle streams or idle sessions")
	size := flag.Int("size", 32<<20-64, "bytes of a large message")
	length := flag.Duration("duration", 2*time.Second, "time to measure for")
	flag.Parse()
	if *listen != "" {
		fmt.Fprintln(os.Stderr, serve(*listen))
		os.Exit(1)
	}
	c, err := dial(*addr)
	if err == nil {
		switch *name {
		case "unary":
			err = unary(c, *workers, *length, "Get", request(0, 60))
		case "upload":
			err = unary(c, *workers, *length, "Get", request(0, *size))
		case "download":
			err = unary(c, *workers, *length, "Download", request(*size, 4))
		case "count":
			err = count(c, *n)
		case "streams":
			err = hang(*addr, *n)
		case "sessions":
			err = sessions(*addr, *n)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
