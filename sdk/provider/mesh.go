package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Neighbourhood tells of the mesh that the application is in.
type Neighbourhood interface {
	// GetMesh returns nil where the application is in no mesh.
	GetMesh(ctx context.Context) (*MeshView, error)
}

// MeshView is the mesh as an application sees it: its own partition, and the registry,
// which is nil while there is none.
type MeshView struct {
	Partition string      `json:"partition"`
	Registry  *authz.Mesh `json:"registry"`
}

type meshOut struct {
	Mesh *MeshView `json:"mesh"`
}

var opGetMesh = declare(Operation{Op: "getMesh", Kind: Read, Method: "GetMesh",
	Tag: "capabilities", Summary: "Show the mesh that the application is in", Answer: "Its partition and the registry, or null."},
	func(ctx context.Context, to Provider, _ *none) (meshOut, error) {
		view, err := to.GetMesh(ctx)
		return meshOut{view}, err
	})

func (c Calls) GetMesh(ctx context.Context) (*MeshView, error) {
	out, err := ask(ctx, c, opGetMesh, none{})
	return out.Mesh, err
}
