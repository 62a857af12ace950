package file

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/warnings"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Importer reads files. It keeps nothing between readings.
type Importer struct {
	o    Options
	open context.Context // ends with Close
	stop context.CancelFunc
}

// Open checks the options; the files are looked at by Import. A refusal is a
// *plugin.ConfigError.
func Open(o Options) (*Importer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	i := &Importer{o: o}
	i.open, i.stop = context.WithCancel(context.Background())
	return i, nil
}

// Info lists what files can tell; a reading's Begin says what they told.
func (i *Importer) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: importerName, Capabilities: []directory.ImporterCapability{directory.CapUsers,
		directory.CapGroups, directory.CapMemberships, directory.CapReporting, directory.CapOrgs}}
}

// Close stops the readings that run.
func (i *Importer) Close() error {
	i.stop()
	return nil
}

// Import reads the files. Nothing is told before all of them were read.
func (i *Importer) Import(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(i.open, cancel)()
		r, err := i.read(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(directory.Begin{Datasets: r.told(), Expected: len(r.entries)}, nil) {
			return
		}
		for _, entry := range r.entries {
			if err := stopped(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
		for _, w := range r.warnings.All() {
			if !yield(directory.Warning{Message: w}, nil) {
				return
			}
		}
		yield(directory.End{}, nil)
	}
}

func (i *Importer) read(ctx context.Context) (*reading, error) {
	if i.open.Err() != nil {
		return nil, unavailable(nil, "the importer is closed")
	}
	if err := stopped(ctx); err != nil {
		return nil, err
	}
	format, docs, err := i.o.read(ctx)
	if err != nil {
		return nil, err
	}
	r := &reading{ctx: ctx, o: &i.o, datasets: map[directory.ImporterCapability]bool{}}
	switch format {
	case formatCSV:
		err = r.csv(docs)
	case formatJSON:
		err = r.json(docs)
	default:
		err = r.ldif(docs)
	}
	return r, err
}

func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return unavailable(ctx.Err(), "the reading was stopped before its end")
	}
	return nil
}

// reading is what the files say.
type reading struct {
	ctx      context.Context // of this one reading
	o        *Options
	datasets map[directory.ImporterCapability]bool
	entries  []directory.Entry
	warnings warnings.Warnings
}

// add tells an entry; where it is is said by the document.
func (r *reading) add(e directory.Entry) error {
	if int64(len(r.entries)) >= r.o.MaxEntries {
		return authz.Validation("%s: there are more entries than %s (%d)", spell.Echo(r.o.Path), settingMaxEntries, r.o.MaxEntries)
	}
	r.entries = append(r.entries, e)
	if len(r.entries)%1024 == 0 {
		return stopped(r.ctx)
	}
	return nil
}

func (r *reading) told() []directory.ImporterCapability {
	var list []directory.ImporterCapability
	for _, c := range directory.ImporterCapabilities() {
		if r.datasets[c] {
			list = append(list, c)
		}
	}
	return list
}
