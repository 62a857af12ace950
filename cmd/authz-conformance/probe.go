package main

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// described is what the probe found out of a storage driver.
type described struct {
	plugin plugin.Description
	driver storage.DriverInfo
	target conformance.Target
	notes  []string
}

// probe starts the plugin and learns what kind of target it is: whether its rows
// live in its process, whether partitions stand beside unpartitioned rows, and
// whether the lease can be set.
func (l *launcher) probe(ctx context.Context, prefix string) (described, error) {
	b, err := l.backend(ctx, conformance.Options{})
	if err != nil {
		return described{}, err
	}
	defer b.Close()
	first, err := b.Connect(ctx)
	if err != nil {
		return described{}, err
	}
	d := described{plugin: first.(*connection).process.plugin.Description(), driver: first.Info()}
	l.lease = d.plugin.Declares("lease", plugin.TypeDuration)
	if !l.lease {
		d.notes = append(d.notes, "the plugin has no setting \"lease\": cases about leases wait for its own")
	}
	partition := fmt.Sprintf("%sprobe%s", prefix, l.run)
	second, why, err := meet(ctx, b, first, partition)
	if err != nil {
		return d, err
	}
	l.inProcess = second != sharing
	if second == sharing && !d.driver.CrossProcess {
		why = "the driver does not declare that sections hold across processes"
	}
	if why != "" {
		d.notes = append(d.notes, why+": cases that need two processes take two stores of one")
	}
	d.target = conformance.Target{Name: d.plugin.Name, New: l.backend, SeparateProcesses: second == sharing && d.driver.CrossProcess, Prefix: prefix}
	fresh := l.settings.fresh() || second == apart
	if fresh && prefix == "" {
		s, err := first.Open(ctx, "")
		if err == nil {
			d.target.Unpartitioned = true
			_ = s.Close()
		} else {
			d.notes = append(d.notes, "the partition \"\" cannot be opened beside others: "+err.Error())
		}
	}
	if !fresh {
		d.notes = append(d.notes, "the configuration holds neither {dir} nor {case}: cases share its database, each with partitions of its own")
	}
	return d, nil
}

// neighbour is what a second process with the same configuration is to the first.
type neighbour int

const (
	absent  neighbour = iota // it cannot be had: of the rows that says nothing
	apart                    // it does not see the rows of the first: they live in the process
	sharing                  // it sees them
)

// meet starts a second process with the same configuration and looks for a row of
// the first one there. why says what keeps the two from sharing.
func meet(ctx context.Context, b conformance.Backend, first storage.Driver, partition string) (second neighbour, why string, err error) {
	s, err := first.Open(ctx, partition)
	if err != nil {
		return absent, "", fmt.Errorf("partition %q cannot be opened: %w", partition, err)
	}
	defer s.Close()
	row := storage.Commit{ID: "probe", Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "probe", Name: "probe"}}}}
	if _, err := s.Commit(ctx, row); err != nil {
		return absent, "", fmt.Errorf("the first commit failed: %w", err)
	}
	process, err := b.Connect(ctx)
	if err != nil {
		return absent, "a second process with the same configuration does not start (" + err.Error() + ")", nil
	}
	defer process.Close()
	other, err := process.Open(ctx, partition)
	if err != nil {
		return absent, "a second process with the same configuration does not open the same partition (" + err.Error() + ")", nil
	}
	defer other.Close()
	if _, found, err := other.GetRole(ctx, "probe"); err != nil {
		return absent, "", err
	} else if !found {
		return apart, "a second process with the same configuration does not see the rows of the first", nil
	}
	return sharing, "", nil
}
