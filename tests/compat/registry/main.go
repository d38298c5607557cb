// SPDX-License-Identifier: AGPL-3.0-or-later

// Compares the types of a server with those of the public client: the definitions, and for each type
// a resource with random content that is created, read in both of its forms, and destroyed.
//
// Usage: registry ENDPOINT SEED
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/omni/client/pkg/client"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/auth"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/infra"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/k8s"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/oidc"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/omni"
	"github.com/siderolabs/omni/client/pkg/omni/resources/registry"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/siderolink"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/system"
	_ "github.com/siderolabs/omni/client/pkg/omni/resources/virtual"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rounds is the number of random resources for each type.
const rounds = 20

// moved names types that later releases of the client keep in another namespace.
var moved = map[resource.Type]resource.Namespace{
	"ImageFactoryAuths.omni.sidero.dev": "default",
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: registry ENDPOINT SEED")
	}

	seed, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	c, err := client.New(os.Args[1])
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck

	st := c.Omni().State()

	if err = compareDefinitions(ctx, st); err != nil {
		return err
	}

	return roundTrips(ctx, st, rand.New(rand.NewSource(seed)))
}

func compareDefinitions(ctx context.Context, st state.State) error {
	var problems []error

	for _, res := range registry.Resources {
		expected, err := meta.NewResourceDefinition(res.ResourceDefinition())
		if err != nil {
			return err
		}

		actual, err := safe.StateGetByID[*meta.ResourceDefinition](ctx, st, expected.Metadata().ID())
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", expected.Metadata().ID(), err))

			continue
		}

		server, client := *actual.TypedSpec(), *expected.TypedSpec()

		// Later releases of the client show more columns; they come last.
		if len(server.PrintColumns) > len(client.PrintColumns) {
			server.PrintColumns = server.PrintColumns[:len(client.PrintColumns)]
		}

		if movedTo := moved[server.Type]; movedTo == server.DefaultNamespace {
			server.DefaultNamespace = client.DefaultNamespace
		}

		if a, e := fmt.Sprintf("%+v", server), fmt.Sprintf("%+v", client); a != e {
			problems = append(problems, fmt.Errorf("%s:\n  server %s\n  client %s", expected.Metadata().ID(), a, e))
		}
	}

	fmt.Printf("%d definitions compared\n", len(registry.Resources))

	return errors.Join(problems...)
}

func roundTrips(ctx context.Context, st state.State, random *rand.Rand) error {
	count := 0

	for _, registered := range registry.Resources {
		definition := registered.ResourceDefinition()

		for round := range rounds {
			res, message, err := newResource(definition, fmt.Sprintf("compat-%d", round))
			if err != nil {
				return err
			}

			if message == nil {
				break // A type without a message.
			}

			fill(random, message.ProtoReflect(), 3)

			if err = roundTrip(ctx, st, res, message); err != nil {
				return fmt.Errorf("%s, round %d: %w", definition.Type, round, err)
			}

			count++
		}
	}

	fmt.Printf("%d resources compared\n", count)

	return nil
}

// newResource makes an empty resource of a type and returns the message of its spec with it.
func newResource(definition meta.ResourceDefinitionSpec, id string) (resource.Resource, proto.Message, error) {
	res, err := protobuf.CreateResource(definition.Type)
	if err != nil {
		return nil, nil, err
	}

	*res.Metadata() = resource.NewMetadata(definition.DefaultNamespace, definition.Type, id, resource.VersionUndefined)

	spec := reflect.ValueOf(res.Spec())
	if spec.Kind() != reflect.Pointer || spec.Elem().Kind() != reflect.Struct {
		return res, nil, nil
	}

	value := spec.Elem().FieldByName("Value")
	if !value.IsValid() || value.Kind() != reflect.Pointer {
		return res, nil, nil
	}

	value.Set(reflect.New(value.Type().Elem()))

	message, ok := value.Interface().(proto.Message)
	if !ok {
		return res, nil, nil
	}

	return res, message, nil
}

func roundTrip(ctx context.Context, st state.State, res resource.Resource, message proto.Message) error {
	if err := st.Create(ctx, res); err != nil {
		return fmt.Errorf("create: %w", err)
	}

	typed, err := st.Get(ctx, res.Metadata())
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}

	got := reflect.ValueOf(typed.Spec()).Elem().FieldByName("Value").Interface().(proto.Message) //nolint:forcetypeassert
	if !proto.Equal(got, message) {
		return fmt.Errorf("the message differs:\n  server %v\n  client %v", got, message)
	}

	shown, err := st.Get(ctx, res.Metadata(), state.WithGetUnmarshalOptions(state.WithSkipProtobufUnmarshal()))
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}

	server, err := specOf(shown)
	if err != nil {
		return fmt.Errorf("the server's text: %w", err)
	}

	local, err := specOf(typed)
	if err != nil {
		return fmt.Errorf("the client's text: %w", err)
	}

	if !agrees(server, local) {
		return fmt.Errorf("the text differs:\n  server %v\n  client %v", server, local)
	}

	return st.Destroy(ctx, res.Metadata())
}

// removed names keys of messages that later releases of the client no longer have.
var removed = map[string]bool{"installdisk": true}

// agrees tells whether the server shows what the client shows, and beside it only fields of later
// releases, which are empty.
func agrees(server, client any) bool {
	switch client := client.(type) {
	case map[string]any:
		fields, ok := server.(map[string]any)
		if !ok {
			return false
		}

		for key, value := range client {
			other, ok := fields[key]
			if !ok && removed[key] {
				continue
			}

			if !ok || !agrees(other, value) {
				return false
			}
		}

		for key, value := range fields {
			if _, ok := client[key]; !ok && !isEmpty(value) {
				return false
			}
		}

		return true
	case []any:
		items, ok := server.([]any)
		if !ok || len(items) != len(client) {
			return false
		}

		for i := range items {
			if !agrees(items[i], client[i]) {
				return false
			}
		}

		return true
	default:
		return reflect.DeepEqual(server, client)
	}
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return reflect.ValueOf(value).IsZero()
	}
}

// specOf reads the spec out of the text that a command would print.
func specOf(res resource.Resource) (any, error) {
	document, err := resource.MarshalYAML(res)
	if err != nil {
		return nil, err
	}

	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, err
	}

	var read struct {
		Spec any `yaml:"spec"`
	}

	return read.Spec, errors.Join(yaml.Unmarshal(text, &read), emptyIs(&read.Spec))
}

func emptyIs(spec *any) error {
	if *spec == nil {
		return errors.New("there is none")
	}

	return nil
}

// fill sets about two fields of three to something random.
func fill(random *rand.Rand, message protoreflect.Message, depth int) {
	if message.Descriptor().FullName() == "google.protobuf.Timestamp" || message.Descriptor().FullName() == "google.protobuf.Duration" {
		fields := message.Descriptor().Fields()
		message.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(random.Int63n(4_000_000_000)))
		message.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(random.Int31n(1_000_000_000)))

		return
	}

	fields := message.Descriptor().Fields()

	for i := range fields.Len() {
		field := fields.Get(i)

		// What a compressed field holds is not up to chance.
		if random.Intn(3) == 0 || strings.HasPrefix(string(field.Name()), "compressed_") {
			continue
		}

		switch {
		case field.IsMap():
			entries := message.Mutable(field).Map()

			for range random.Intn(4) {
				key := scalar(random, field.MapKey()).MapKey()

				if field.MapValue().Message() == nil {
					entries.Set(key, scalar(random, field.MapValue()))
				} else if depth > 0 {
					value := entries.NewValue()
					fill(random, value.Message(), depth-1)
					entries.Set(key, value)
				}
			}
		case field.IsList():
			list := message.Mutable(field).List()

			for range random.Intn(4) {
				if field.Message() == nil {
					list.Append(scalar(random, field))
				} else if depth > 0 {
					value := list.NewElement()
					fill(random, value.Message(), depth-1)
					list.Append(value)
				}
			}
		case field.Message() != nil:
			if depth > 0 {
				fill(random, message.Mutable(field).Message(), depth-1)
			}
		default:
			message.Set(field, scalar(random, field))
		}
	}
}

var texts = []string{
	"", "a", "true", "no", "1.10", "0x1f", "1e3", "2026-08-21", "~", "null", "a: b", "- a", "# a", "'a'", `"a"`, "a\nb\n", "\n", " a", "a ",
	"{a: b}", "[a]", "ä", "日本", "😀", "\u0085", "\x01", "|", ">", "%", "@", "`", "a\tb", "é: ü", "192.168.0.1/24", "grpc://a:1?b=c&d=e",
}

func scalar(random *rand.Rand, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(random.Intn(2) == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[random.Intn(len(texts))])
	case protoreflect.BytesKind:
		bytes := make([]byte, random.Intn(8))
		random.Read(bytes)

		return protoreflect.ValueOfBytes(bytes)
	case protoreflect.EnumKind:
		values := field.Enum().Values()

		return protoreflect.ValueOfEnum(values.Get(random.Intn(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(random.Int31() - 1<<30)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(random.Int63() - 1<<62)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(random.Uint32())
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(random.Uint64())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(random.Float32() * 1e6)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(random.NormFloat64() * 1e6)
	default:
		panic(fmt.Sprintf("unexpected kind %s", field.Kind()))
	}
}
