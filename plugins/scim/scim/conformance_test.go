package scim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/directory"
)

// service is a SCIM service of one case.
type service struct {
	t         *testing.T
	server    *scimtest.Server
	importers []directory.Importer
}

func (s *service) Connect(context.Context) (directory.Importer, error) {
	o := options(s.server)
	o.PageSize, o.MaxRetries = 50, 1
	i, err := scim.Open(o)
	if err != nil {
		return nil, err
	}
	s.importers = append(s.importers, i)
	return i, nil
}

func (s *service) Close() error {
	var errs []error
	for _, i := range s.importers {
		errs = append(errs, i.Close())
	}
	s.server.Stop()
	return errors.Join(errs...)
}

// Cut lets every connection break in the middle of its answer.
func (s *service) Cut() error {
	s.server.Set(s.t, scimtest.Faults{"cutAt": 1})
	return nil
}

// CutMidway breaks the connections that ask for groups, which every reading does when
// it has all people.
func (s *service) CutMidway(int) (func() bool, error) {
	s.server.Set(s.t, scimtest.Faults{"cutAt": 1, "only": "Groups"})
	return func() bool { return true }, nil
}

// Stall lets the service hang in the middle of every answer.
func (s *service) Stall() error {
	s.server.Set(s.t, scimtest.Faults{"hangAfter": 1})
	return nil
}

func (s *service) Resume() error {
	s.server.Set(s.t, scimtest.Faults{})
	return nil
}

func TestConformance(t *testing.T) {
	world, _ := company(200, 20)
	importer.Run(t, importer.Target{Name: "scim", New: func(context.Context) (importer.Backend, error) {
		return &service{t: t, server: scimtest.Start(t, world)}, nil
	}})
}
