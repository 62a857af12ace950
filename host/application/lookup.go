package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// LookUp tells what is stored of a subject. Records of people and groups lie at the
// org root: elsewhere their absence says nothing.
func (a *Application) LookUp(ctx context.Context, subject string) (found provider.Known, err error) {
	found.OrgRoot = a.orgRoot
	kind, id, ok := authz.ParseSubject(subject)
	if !ok {
		return found, authz.Validation("lookUp: %s is no subject", spell.Quote(subject))
	}
	one := storage.Page{Limit: 1}
	found.Rows, err = some(a.store.ListGrants(ctx, storage.GrantFilter{Subject: &subject}, one))
	if err == nil && kind == authz.SubjectGroup {
		_, found.Record, err = a.store.GetGroup(ctx, id)
	}
	if err == nil && kind == authz.SubjectUser {
		err = a.lookUpUser(ctx, id, &found)
	}
	return found, a.readFailed("lookUp", err)
}

func (a *Application) lookUpUser(ctx context.Context, id string, found *provider.Known) (err error) {
	one := storage.Page{Limit: 1}
	if _, found.Record, err = a.store.GetUser(ctx, id); err != nil {
		return err
	}
	if !found.Rows {
		if found.Rows, err = some(a.store.ListRevokes(ctx, storage.RevokeFilter{UserID: &id}, one)); err != nil {
			return err
		}
	}
	found.UserRecords, err = some(a.store.ListUsers(ctx, storage.UserFilter{}, one))
	return err
}

// some tells whether a list has anything in it.
func some[Row any](rows iter.Seq2[Row, error]) (bool, error) {
	for _, err := range rows {
		return err == nil, err
	}
	return false, nil
}

// GetMesh tells of the mesh that the application is in, nil where it is in none.
func (a *Application) GetMesh(ctx context.Context) (*provider.MeshView, error) {
	if a.mesh == nil {
		return nil, nil
	}
	view, err := a.mesh(ctx)
	return view, a.readFailed("getMesh", err)
}
