// SPDX-License-Identifier: AGPL-3.0-or-later

// Package siderolink_test joins a running server as a machine does, with the public client of the
// siderolink protocol, and looks at the result with the public client of the COSI state.
//
// The server is named by BATUTA_PROVISION and BATUTA_API (host:port) and BATUTA_JOIN_TOKEN; without
// them the tests are skipped.
package siderolink_test

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/protobuf/client"
	"github.com/google/uuid"
	pb "github.com/siderolabs/siderolink/api/siderolink"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const deadline = 20 * time.Second

// The fixed addresses of the protocol.
var (
	network       = netip.MustParsePrefix("fdae:41e4:649b:9303::/64")
	serverAddress = network.Addr().Next()
)

// Field numbers of the spec of a Link.
const (
	linkNodeSubnet    = 1
	linkNodePublicKey = 2
)

// raw leaves specs as they came: this module knows no type of the server.
var raw = state.WithSkipProtobufUnmarshal()

func getLink(ctx context.Context, server server, id string) (resource.Resource, error) {
	return server.state.Get(
		ctx, pointer("Links.omni.sidero.dev", id), state.WithGetUnmarshalOptions(raw),
	)
}

func pointer(resourceType, id string) resource.Metadata {
	return resource.NewMetadata("default", resourceType, id, resource.VersionUndefined)
}

// server is the one under test.
type server struct {
	provision pb.ProvisionServiceClient
	state     state.State
	token     string
}

func connect(t *testing.T) server {
	t.Helper()

	dial := func(variable string) *grpc.ClientConn {
		address := os.Getenv(variable)
		if address == "" {
			t.Skipf("%s is not set: no server to test", variable)
		}

		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { conn.Close() }) //nolint:errcheck

		return conn
	}

	return server{
		provision: pb.NewProvisionServiceClient(dial("BATUTA_PROVISION")),
		state:     state.WrapCore(client.NewAdapter(v1alpha1.NewStateClient(dial("BATUTA_API")))),
		token:     os.Getenv("BATUTA_JOIN_TOKEN"),
	}
}

func request(t *testing.T, token string) *pb.ProvisionRequest {
	t.Helper()

	key, err := wgtypes.GeneratePrivateKey()
	if err != nil {
		t.Fatal(err)
	}

	uniqueToken, version := "", "v1.12.11"

	return &pb.ProvisionRequest{
		NodeUuid:        uuid.NewString(),
		NodePublicKey:   key.PublicKey().String(),
		JoinToken:       &token,
		NodeUniqueToken: &uniqueToken,
		TalosVersion:    &version,
	}
}

func TestGoodTokenJoins(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()

	server := connect(t)
	machine := request(t, server.token)
	events := make(chan state.Event)

	if err := server.state.WatchKind(
		ctx, pointer("Machines.omni.sidero.dev", ""), events, state.WithBootstrapContents(true),
		state.WithWatchKindUnmarshalOptions(raw),
	); err != nil {
		t.Fatal(err)
	}

	reply, err := server.provision.Provision(ctx, machine)
	if err != nil {
		t.Fatal(err)
	}

	checkReply(t, reply)

	link, err := getLink(ctx, server, machine.NodeUuid)
	if err != nil {
		t.Fatal(err)
	}

	if key := field(t, link, linkNodePublicKey); key != machine.NodePublicKey {
		t.Errorf("the link has the key %q", key)
	}

	if subnet := field(t, link, linkNodeSubnet); subnet != reply.NodeAddressPrefix {
		t.Errorf("the link has the subnet %q", subnet)
	}

	awaitMachine(ctx, t, events, machine.NodeUuid)

	again, err := server.provision.Provision(ctx, machine)
	if err != nil {
		t.Fatal(err)
	}

	if again.NodeAddressPrefix != reply.NodeAddressPrefix {
		t.Errorf("the address changed from %s to %s", reply.NodeAddressPrefix, again.NodeAddressPrefix)
	}
}

// field returns a text field of a spec, decoded by nothing but its number.
func field(t *testing.T, res resource.Resource, wanted protowire.Number) string {
	t.Helper()

	marshalled, err := protobuf.FromResource(res)
	if err != nil {
		t.Fatal(err)
	}

	encoded, err := marshalled.Marshal()
	if err != nil {
		t.Fatal(err)
	}

	for spec := encoded.GetSpec().GetProtoSpec(); len(spec) > 0; {
		number, kind, length := protowire.ConsumeTag(spec)
		if length < 0 {
			t.Fatal(protowire.ParseError(length))
		}

		spec = spec[length:]

		if number == wanted && kind == protowire.BytesType {
			value, _ := protowire.ConsumeString(spec)

			return value
		}

		spec = spec[protowire.ConsumeFieldValue(number, kind, spec):]
	}

	return ""
}

func checkReply(t *testing.T, reply *pb.ProvisionResponse) {
	t.Helper()

	if len(reply.GetEndpoints()) == 0 || reply.GrpcPeerAddrPort != "" {
		t.Errorf("endpoints: %v, peer %q", reply.GetEndpoints(), reply.GrpcPeerAddrPort)
	}

	for _, endpoint := range reply.GetEndpoints() {
		if _, err := netip.ParseAddrPort(endpoint); err != nil {
			t.Errorf("endpoint: %s", err)
		}
	}

	if _, err := wgtypes.ParseKey(reply.ServerPublicKey); err != nil {
		t.Errorf("server key: %s", err)
	}

	prefix, err := netip.ParsePrefix(reply.NodeAddressPrefix)
	if err != nil {
		t.Fatal(err)
	}

	if prefix.Bits() != network.Bits() || !network.Contains(prefix.Addr()) {
		t.Errorf("address %s is not in %s", prefix, network)
	}

	if reply.ServerAddress != serverAddress.String() {
		t.Errorf("server address: %s", reply.ServerAddress)
	}
}

func awaitMachine(ctx context.Context, t *testing.T, events <-chan state.Event, id resource.ID) {
	t.Helper()

	for {
		select {
		case <-ctx.Done():
			t.Fatal("the watch never showed the machine")
		case event := <-events:
			if event.Type == state.Errored {
				t.Fatal(event.Error)
			}

			if event.Type == state.Created && event.Resource.Metadata().ID() == id {
				return
			}
		}
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()

	server := connect(t)

	for _, test := range []struct {
		name   string
		change func(*pb.ProvisionRequest)
		code   codes.Code
	}{
		{"wrong token", func(r *pb.ProvisionRequest) { *r.JoinToken += "x" }, codes.PermissionDenied},
		{"no token", func(r *pb.ProvisionRequest) { r.JoinToken = nil }, codes.PermissionDenied},
		{"malformed key", func(r *pb.ProvisionRequest) { r.NodePublicKey = "key" }, codes.InvalidArgument},
		{"malformed UUID", func(r *pb.ProvisionRequest) { r.NodeUuid = "machine" }, codes.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			machine := request(t, server.token)
			test.change(machine)

			_, err := server.provision.Provision(ctx, machine)
			if code := status.Code(err); code != test.code {
				t.Errorf("%s instead of %s: %v", code, test.code, err)
			}

			if strings.Contains(status.Convert(err).Message(), server.token) {
				t.Error("the refusal shows the token")
			}

			_, err = getLink(ctx, server, machine.NodeUuid)
			if !state.IsNotFoundError(err) {
				t.Errorf("a refused machine has a link: %v", err)
			}
		})
	}
}
