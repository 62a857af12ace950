package pluginhost

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// Importer returns an importer that always speaks to the current process; a reading
// that its end cuts off ends unavailable. Closing it ends the process's importer,
// for everybody; the process belongs to the Host.
func (p *Plugin) Importer() (directory.Importer, error) {
	now, err := p.servesNow("")
	if err != nil {
		return nil, err
	}
	if now.Importer == nil {
		return nil, p.servesNo(p.Description(), plugin.KindImporter)
	}
	return &importer{plugin: p, info: now.Importer.Info()}, nil
}

type importer struct {
	plugin *Plugin

	mu     sync.Mutex
	info   directory.ImporterInfo // last seen
	closed bool
}

// now is the current process's importer.
func (i *importer) now() (directory.Importer, error) {
	i.mu.Lock()
	closed := i.closed
	i.mu.Unlock()
	if closed {
		return nil, &authz.UnavailableError{Message: "the importer is closed"}
	}
	now, err := i.plugin.servesNow("")
	if err == nil && now.Importer == nil {
		err = &authz.UnavailableError{Message: i.plugin.servesNo(i.plugin.Description(), plugin.KindImporter).Error()}
	}
	return now.Importer, err
}

func (i *importer) Info() directory.ImporterInfo {
	now, err := i.now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.info = now.Info()
	}
	return directory.ImporterInfo{Name: i.info.Name, Capabilities: slices.Clone(i.info.Capabilities)}
}

func (i *importer) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		now, err := i.now()
		if err != nil {
			yield(nil, err)
			return
		}
		now.Import(ctx, r)(yield)
	}
}

func (i *importer) Close() error {
	now, err := i.now()
	i.mu.Lock()
	already := i.closed
	i.closed = true
	i.mu.Unlock()
	if already || err != nil { // no process: nothing is left to close
		return nil
	}
	return now.Close()
}
