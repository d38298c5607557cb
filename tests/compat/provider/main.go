// SPDX-License-Identifier: AGPL-3.0-or-later

// The smallest infrastructure provider on the public SDK: its machines are nothing but resources.
//
// Usage: provider ENDPOINT
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/resource/typed"
	"github.com/siderolabs/omni/client/api/omni/specs"
	"github.com/siderolabs/omni/client/pkg/infra"
	"github.com/siderolabs/omni/client/pkg/infra/provision"
	infrares "github.com/siderolabs/omni/client/pkg/omni/resources/infra"
	"go.uber.org/zap"
)

const providerID = "test"

// MachineSpec is what the provider keeps of a machine; any message will do.
type MachineSpec = protobuf.ResourceSpec[specs.MachineSpec, *specs.MachineSpec]

// Machine is a machine of the provider.
type Machine = typed.Resource[MachineSpec, MachineExtension]

// MachineExtension describes the type.
type MachineExtension struct{}

// ResourceDefinition implements typed.Extension.
func (MachineExtension) ResourceDefinition() meta.ResourceDefinitionSpec {
	return meta.ResourceDefinitionSpec{
		Type:             infra.ResourceType("Machines", providerID),
		DefaultNamespace: infra.ResourceNamespace(providerID),
	}
}

type provisioner struct{}

func (provisioner) ProvisionSteps() []provision.Step[*Machine] {
	return []provision.Step[*Machine]{
		provision.NewStep("schematic", func(ctx context.Context, logger *zap.Logger, pctx provision.Context[*Machine]) error {
			id, err := pctx.GenerateSchematicID(ctx, logger, provision.WithoutConnectionParams())
			if err != nil {
				return err
			}

			pctx.State.TypedSpec().Value.ManagementAddress = id

			return nil
		}),
		provision.NewStep("machine", func(ctx context.Context, _ *zap.Logger, pctx provision.Context[*Machine]) error {
			// Large enough for the SDK to compress it.
			patch := "machine:\n    sysctls:\n        a.b: \"1\"\n#" + strings.Repeat(" filler", 400) + "\n"

			if err := pctx.CreateConfigPatch(ctx, "000-test-"+pctx.GetRequestID(), []byte(patch)); err != nil {
				return err
			}

			pctx.SetMachineUUID("da201591-b193-433d-a24b-5f76d2aa46ca")
			fmt.Printf("provisioned %s\n", pctx.GetRequestID())

			return nil
		}),
	}
}

func (provisioner) Deprovision(_ context.Context, _ *zap.Logger, _ *Machine, request *infrares.MachineRequest) error {
	fmt.Printf("deprovisioned %s\n", request.Metadata().ID())

	return nil
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()

	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	provider, err := infra.NewProvider(providerID, provisioner{}, infra.ProviderConfig{Name: "Test", Description: "of the tests"})
	if err != nil {
		return err
	}

	if len(os.Args) != 2 {
		return fmt.Errorf("usage: provider ENDPOINT")
	}

	return provider.Run(ctx, zap.Must(zap.NewProduction()), infra.WithOmniEndpoint(os.Args[1]), infra.WithEncodeRequestIDsIntoTokens())
}
