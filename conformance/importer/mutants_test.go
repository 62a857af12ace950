package importer_test

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/internal/mutants"
	"github.com/authzhost/authz/conformance/internal/processes"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

type sequence = iter.Seq2[directory.Entry, error]

// altered is an importer some of whose methods are replaced.
type altered struct {
	directory.Importer
	info  func() directory.ImporterInfo
	read  func(context.Context, directory.Request) sequence
	close func() error
}

func (a *altered) Info() directory.ImporterInfo {
	if a.info != nil {
		return a.info()
	}
	return a.Importer.Info()
}

func (a *altered) Import(ctx context.Context, r directory.Request) sequence {
	if a.read != nil {
		return a.read(ctx, r)
	}
	return a.Importer.Import(ctx, r)
}

func (a *altered) Close() error {
	if a.close != nil {
		return a.close()
	}
	return a.Importer.Close()
}

type breaking = func(*memoryImporter) directory.Importer

func informing(info directory.ImporterInfo) breaking {
	return func(i *memoryImporter) directory.Importer {
		own := directory.ImporterInfo{Name: info.Name, Capabilities: slices.Clone(info.Capabilities)}
		return &altered{Importer: i, info: func() directory.ImporterInfo { return own }}
	}
}

// reading replaces Import.
func reading(read func(*memoryImporter, context.Context, directory.Request) sequence) breaking {
	return func(i *memoryImporter) directory.Importer {
		return &altered{Importer: i, read: func(ctx context.Context, r directory.Request) sequence { return read(i, ctx, r) }}
	}
}

// telling replaces each entry with others.
func telling(alter func(n int, e directory.Entry) []directory.Entry) breaking {
	return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			n := 0
			for e, err := range i.Import(ctx, r) {
				if err != nil {
					yield(nil, err)
					return
				}
				n++
				for _, other := range alter(n, e) {
					if !yield(other, nil) {
						return
					}
				}
			}
		}
	})
}

// once adds an entry after the Begin.
func once(added directory.Entry) breaking {
	return telling(func(n int, e directory.Entry) []directory.Entry {
		if n == 1 {
			return []directory.Entry{e, added}
		}
		return []directory.Entry{e}
	})
}

// beginning changes the Begin.
func beginning(change func(*directory.Begin)) breaking {
	return telling(func(_ int, e directory.Entry) []directory.Entry {
		if b, ok := e.(directory.Begin); ok {
			change(&b)
			e = b
		}
		return []directory.Entry{e}
	})
}

// unless tells all entries of the directory whatever stands in the way, but for what
// f says: nil goes on, an error ends the reading, ended ends it without one.
func unless(f func(i *memoryImporter, ctx context.Context, n int) (err error, ended bool)) breaking {
	return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			first, err := from(r.Cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			n := 0
			for e := range i.entries(first) {
				n++
				err, ended := f(i, ctx, n)
				if ended {
					return
				}
				i.handed.Add(1)
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	})
}

// excusing makes one kind of obstacle, told by its message, the end of the reading as
// end does.
func excusing(message string, end func(yield func(directory.Entry, error) bool)) breaking {
	return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			for e, err := range i.Import(ctx, r) {
				if err != nil && err.Error() == message {
					end(yield)
					return
				}
				if !yield(e, err) {
					return
				}
			}
		}
	})
}

func silently(func(directory.Entry, error) bool) {}

func asIfEmpty(yield func(directory.Entry, error) bool) {
	_ = yield(directory.Begin{Datasets: datasets}, nil) && yield(directory.End{Cursor: "p1"}, nil)
}

func withAnEnd(yield func(directory.Entry, error) bool) { yield(directory.End{Cursor: "p1"}, nil) }

func asARefusal(yield func(directory.Entry, error) bool) {
	yield(nil, authz.Validation("it did not work"))
}

const (
	closed   = "the importer is closed"
	stopped  = "the caller stopped waiting"
	noAnswer = "the process does not answer"
	noLine   = "the directory cannot be reached"
)

// patient reads with another context than the caller's, for a while.
func patient(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
	return func(yield func(directory.Entry, error) bool) {
		long, done := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
		defer done()
		i.Import(long, r)(yield)
	}
}

// collecting tells nothing before it has everything. It takes the directory to end at
// the errors that are ends.
func collecting(ends func(error) bool) func(*memoryImporter, context.Context, directory.Request) sequence {
	return func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			var all []directory.Entry
			for e, err := range i.Import(ctx, r) {
				if err != nil && ends(err) && len(all) > 0 {
					all = append(all, directory.End{Cursor: "p1"})
					break
				}
				if err != nil {
					yield(nil, err)
					return
				}
				all = append(all, e)
			}
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

var (
	ahead  = collecting(func(error) bool { return false })
	partly = collecting(func(err error) bool { return err.Error() == noLine })
)

// left is told when a reading was stopped by its reader, before the reading returns.
func left(then func(*memoryImporter)) func(*memoryImporter, context.Context, directory.Request) sequence {
	return func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			for e, err := range i.Import(ctx, r) {
				if !yield(e, err) {
					then(i)
					return
				}
			}
		}
	}
}

var (
	// lingering does not return for a while, lasting goes on collecting.
	lingering = left(func(*memoryImporter) { time.Sleep(3200 * time.Millisecond) })
	lasting   = left(func(i *memoryImporter) {
		go func() {
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				i.handed.Add(1)
			}
		}()
	})
)

type mutant struct {
	name   string
	cases  string // separated by blanks
	broken breaking
	judge  func(map[string]any) error
}

var all = []mutant{
	{"it has no name", "D01", informing(directory.ImporterInfo{Capabilities: capabilities}), nil},
	{"it declares no dataset", "D01", informing(directory.ImporterInfo{Name: "x", Capabilities: []directory.ImporterCapability{directory.CapIncremental}}), nil},
	{"its capabilities are shared with callers", "D02", informing(directory.ImporterInfo{Name: "x", Capabilities: capabilities}), nil},
	{"it has no Begin", "D03", telling(func(n int, e directory.Entry) []directory.Entry {
		if n == 1 {
			return nil
		}
		return []directory.Entry{e}
	}), nil},
	{"it begins twice", "D03", once(directory.Begin{Datasets: datasets}), nil},
	{"Begin lists a dataset that Info does not declare", "D03", beginning(func(b *directory.Begin) { b.Datasets = append(b.Datasets, directory.CapOrgs) }), nil},
	{"a full reading says that it is incremental", "D03", beginning(func(b *directory.Begin) { b.Incremental = true }), nil},
	{"a warning follows the End", "D04", telling(func(_ int, e directory.Entry) []directory.Entry {
		if _, ok := e.(directory.End); ok {
			return []directory.Entry{e, directory.Warning{Message: "late"}}
		}
		return []directory.Entry{e}
	}), nil},
	{"End has no cursor", "D04", telling(func(_ int, e directory.Entry) []directory.Entry {
		if _, ok := e.(directory.End); ok {
			return []directory.Entry{directory.End{}}
		}
		return []directory.Entry{e}
	}), nil},
	{"it tells managers without a word in Begin", "D05 D07", once(directory.ReportingEdge{UserID: "u1", ManagerID: "u2"}), nil},
	{"a user has no id", "D06", once(directory.User{}), nil},
	{"a group's id has no end", "D06", once(directory.Group{ID: strings.Repeat("g", 2000), Name: "G"}), nil},
	{"a name is not UTF-8", "D06", once(directory.Group{ID: "g", Name: "\xff"}), nil},
	{"a warning is a page long", "D06", once(directory.Warning{Message: strings.Repeat("w", 3000)}), nil},
	{"every other reading lacks a person", "D08", func(i *memoryImporter) directory.Importer {
		var readings atomic.Int64
		return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
			odd := readings.Add(1)%2 > 0
			return func(yield func(directory.Entry, error) bool) {
				for e, err := range i.Import(ctx, r) {
					if u, ok := e.(directory.User); ok && odd && u.UserID == "u77" {
						continue
					}
					if !yield(e, err) {
						return
					}
				}
			}
		})(i)
	}, nil},
	{"the lists of entries are its own", "D09", func(i *memoryImporter) directory.Importer {
		groups := []string{"g1"}
		return telling(func(_ int, e directory.Entry) []directory.Entry {
			if m, ok := e.(directory.Membership); ok {
				m.Groups = groups
				e = m
			}
			return []directory.Entry{e}
		})(i)
	}, nil},
	{"a second reading at once is refused", "D10", func(i *memoryImporter) directory.Importer {
		var busy atomic.Bool
		return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
			return func(yield func(directory.Entry, error) bool) {
				if busy.Swap(true) {
					yield(nil, unavailable(nil, "another reading is under way"))
					return
				}
				defer busy.Store(false)
				i.Import(ctx, r)(yield)
			}
		})(i)
	}, nil},
	{"a reading that was stopped is never over", "D11", func(i *memoryImporter) directory.Importer {
		var busy atomic.Bool
		return reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
			return func(yield func(directory.Entry, error) bool) {
				if busy.Swap(true) {
					yield(nil, unavailable(nil, "another reading is under way"))
					return
				}
				for e, err := range i.Import(ctx, r) {
					if !yield(e, err) {
						return
					}
				}
				busy.Store(false)
			}
		})(i)
	}, nil},
	{"it takes its time when its reader has stopped", "D11", reading(lingering), nil},
	{"it goes on for a reader that has stopped", "D12", reading(lasting), nil},
	{"an ended context ends nothing", "D13 D14", unless(func(i *memoryImporter, _ context.Context, _ int) (error, bool) { return nil, false }), nil},
	{"an ended context ends a reading without an error", "D13 D14", excusing(stopped, silently), nil},
	{"a reading whose context ended has an End", "D13 D14", excusing(stopped, withAnEnd), nil},
	{"a slow reader loses what it did not fetch", "D15", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			for e, err := range i.Import(ctx, r) {
				start := time.Now()
				if !yield(e, err) {
					return
				}
				if time.Since(start) > 800*time.Millisecond {
					yield(nil, unavailable(nil, "the cursor has expired"))
					return
				}
			}
		}
	}), nil},
	{"it collects everything before it tells anything", "D16", reading(ahead), nil},
	{"a reading from a cursor is partial and says that it is full", "D17", beginning(func(b *directory.Begin) { b.Incremental = false }), nil},
	{"a reading from a cursor tells what was never so", "D17", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		if r.Cursor == "" {
			return i.Import(ctx, r)
		}
		return once(directory.User{UserID: "nobody"})(i).Import(ctx, r)
	}), nil},
	{"an incremental reading leaves out the first change", "D18", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		if first, err := from(r.Cursor); err == nil && first > 0 {
			r.Cursor = "p" + strconv.Itoa(first+1)
		}
		return i.Import(ctx, r)
	}), nil},
	{"an unusable cursor reads from somewhere", "D19", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		if _, err := from(r.Cursor); err != nil {
			r.Cursor = "p100"
		}
		return i.Import(ctx, r)
	}), nil},
	{"an unusable cursor is an outage", "D19", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			if _, err := from(r.Cursor); err != nil {
				yield(nil, unavailable(nil, "it did not work"))
				return
			}
			i.Import(ctx, r)(yield)
		}
	}), nil},
	{"a directory that cannot be reached is empty", "D20", excusing(noLine, asIfEmpty), nil},
	{"a directory that cannot be reached is a refusal", "D20", excusing(noLine, asARefusal), nil},
	{"a cut line ends a reading as if it were whole", "D21", excusing(noLine, withAnEnd), nil},
	{"it tells what it has collected before the line was cut", "D21", reading(partly), nil},
	{"a directory that does not answer is waited for", "D22 D25", reading(patient), nil},
	{"a dead process ends a reading without an error", "D23 D24", excusing(noAnswer, silently), nil},
	{"a dead process is a refusal", "D23 D24", excusing(noAnswer, asARefusal), nil},
	{"a stopped process is read as if it were whole", "D25", excusing(noAnswer, withAnEnd), nil},
	{"a closed importer reads on", "D26 D27", func(i *memoryImporter) directory.Importer {
		return &altered{Importer: i, close: func() error { return nil }}
	}, nil},
	{"a reading that Close ends has an End", "D27", excusing(closed, withAnEnd), nil},
	{"unknown settings are passed over", "D28", nil, processes.Tolerating("unknown")},
	{"a wrong type is passed over", "D29", nil, processes.Tolerating("has the wrong type")},
	{"a required setting may be missing", "D30", nil, processes.Tolerating("is required")},
	{"the token is logged", "D31", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		i.b.Say("bind with %s", i.token)
		return i.Import(ctx, r)
	}), nil},
	{"the token stands in an error", "D31 D32", reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			for e, err := range i.Import(ctx, r) {
				if err != nil {
					err = unavailable(err, "GET /?token="+i.token)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}), nil},
}

func TestMutantsAreCaught(t *testing.T) {
	var tried []mutants.Mutant
	for _, m := range all {
		tried = append(tried, mutants.Mutant{Name: m.name, Cases: m.cases, Plan: over(m.broken, m.judge).Plan()})
	}
	mutants.Caught(t, importer.Cases(), tried)
}
