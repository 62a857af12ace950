package pluginhost

import (
	"context"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

// Check finds, verifies, launches and describes a plugin as Start does, has it judge
// its settings, and ends its process. With connect it is configured as well, and so
// reaches its database; of an importer a reading is begun and given up. Stores are
// not opened. What was learnt before an error is in the description.
func (h *Host) Check(ctx context.Context, spec Spec, connect bool) (plugin.Description, error) {
	p := newPlugin(h, spec.filled(h.opts))
	ctx, done, err := p.begin(ctx)
	if err != nil {
		return plugin.Description{}, err
	}
	defer done()
	defer h.free(spec.Name)
	if err := p.prepare(); err != nil {
		return plugin.Description{}, err
	}
	var described plugin.Description
	steps := []step{{"CheckConfig", func(ctx context.Context, proc *process) error {
		described = proc.description
		return proc.rpc.CheckConfig(ctx, described, p.spec.settings(described))
	}}}
	if connect {
		steps = append(steps, p.reaching()...)
	}
	proc, err := p.launchTo(ctx, steps...)
	if err != nil {
		return described, err
	}
	proc.stop(context.WithoutCancel(ctx))
	return described, nil
}

// reaching are the steps that find out whether what the plugin needs answers. A
// plugin that only takes counts is left alone: it keeps no host from starting, and
// what it listens on or writes may be in use by a host that runs.
func (p *Plugin) reaching() []step {
	needed := func(d plugin.Description) bool { return d.Serves(plugin.KindStorage) || d.Serves(plugin.KindImporter) }
	return []step{{"Configure", func(ctx context.Context, proc *process) (err error) {
		if needed(proc.description) {
			proc.serves, err = proc.rpc.Configure(ctx, p.spec.settings(proc.description))
		}
		return err
	}}, {"Import", func(ctx context.Context, proc *process) error {
		if proc.serves.Importer == nil {
			return nil
		}
		for _, err := range proc.serves.Importer.Import(ctx, directory.Request{}) {
			return err // the first entry proves enough
		}
		return nil
	}}}
}
