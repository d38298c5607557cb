// SPDX-License-Identifier: AGPL-3.0-or-later

// Command etcd_reader reads a state in etcd as another program of the field does: it computes the keys
// by hand, opens the values with the store marshalers of the COSI runtime, and prints what it found as
// lines of JSON.
//
// It talks to etcd by its JSON gateway, so that no client of etcd is needed.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state/impl/store"
	"github.com/cosi-project/runtime/pkg/state/impl/store/compression"
	"github.com/cosi-project/runtime/pkg/state/impl/store/encryption"
)

const thingType = resource.Type("test/thing")

// thing is a resource whose spec is a number of bytes.
type thing struct {
	md   resource.Metadata
	data []byte
}

func (t *thing) Metadata() *resource.Metadata { return &t.md }
func (t *thing) Spec() any                    { return t.data }
func (t *thing) DeepCopy() resource.Resource  { return &thing{t.md, bytes.Clone(t.data)} }

func (t *thing) UnmarshalProto(md *resource.Metadata, data []byte) error {
	t.md, t.data = *md, data

	return nil
}

type pair struct {
	Key     []byte `json:"key"`
	Value   []byte `json:"value"`
	Version string `json:"version"`
}

func list(endpoint, prefix string) ([]pair, error) {
	end := []byte(prefix)
	end[len(end)-1]++

	request, err := json.Marshal(map[string][]byte{"key": []byte(prefix), "range_end": end})
	if err != nil {
		return nil, err
	}

	reply, err := http.Post(endpoint+"/v3/kv/range", "application/json", bytes.NewReader(request)) //nolint:gosec
	if err != nil {
		return nil, err
	}

	defer reply.Body.Close() //nolint:errcheck

	var found struct {
		Kvs []pair `json:"kvs"`
	}

	return found.Kvs, json.NewDecoder(reply.Body).Decode(&found)
}

func key(prefix string, md *resource.Metadata) string {
	hash := sha256.Sum256([]byte(md.ID()))

	return fmt.Sprintf("%s/%s/%s/%s", prefix, url.PathEscape(md.Namespace()), url.PathEscape(md.Type()), hex.EncodeToString(hash[:]))
}

func main() {
	endpoint := flag.String("endpoint", "", "client URL of etcd")
	prefix := flag.String("prefix", "/cosi", "what all keys begin with")
	secret := flag.String("key", "", "key of the state in base64")
	flag.Parse()

	raw, err := base64.StdEncoding.DecodeString(*secret)
	if err != nil {
		log.Fatal(err)
	}

	if err = protobuf.RegisterResource(thingType, &thing{}); err != nil {
		log.Fatal(err)
	}

	marshaler := encryption.NewMarshaler(
		compression.NewMarshaler(store.ProtobufMarshaler{}, compression.ZStd(), 0),
		encryption.NewCipher(encryption.KeyProviderFunc(func() ([]byte, error) { return raw, nil })),
	)

	pairs, err := list(*endpoint, *prefix+"/")
	if err != nil {
		log.Fatal(err)
	}

	out := json.NewEncoder(os.Stdout)

	for _, p := range pairs {
		r, err := marshaler.UnmarshalResource(p.Value)
		if err != nil {
			log.Fatalf("%s: %v", p.Key, err)
		}

		md := r.Metadata()
		if want := key(*prefix, md); want != string(p.Key) {
			log.Fatalf("the key is %s, it should be %s", p.Key, want)
		}

		if md.Version().String() != p.Version {
			log.Fatalf("%s: the version is %s, that of the key %s", p.Key, md.Version(), p.Version)
		}

		if err := out.Encode(map[string]any{
			"id":         md.ID(),
			"version":    md.Version().String(),
			"owner":      md.Owner(),
			"phase":      md.Phase().String(),
			"finalizers": []resource.Finalizer(*md.Finalizers()),
			"labels":     md.Labels().Raw(),
			"spec":       string(r.(*thing).data),
		}); err != nil {
			log.Fatal(err)
		}
	}
}
