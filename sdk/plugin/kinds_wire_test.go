package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The largest window that an aggregator with its default caps can make: every
// list full and every text at its longest.
func TestTheLargestWindowOfAnAggregatorCrosses(t *testing.T) {
	long := func(s string, i, limit int) string {
		return fmt.Sprintf("%06d", i) + strings.Repeat(s, limit-6) + "…"
	}
	var recent []string
	for i := range 5 {
		recent = append(recent, "service:"+long("u", i, 1024))
	}
	rows := func(kind string) (list []metrics.RowCounter) {
		for i := range 10_000 {
			list = append(list, metrics.RowCounter{RowID: long(kind, i, 1024), Matched: authz.MaxInstant, SoleMatch: authz.MaxInstant,
				EstimatedMatched: 1 << 53, EstimatedSoleMatch: 1 << 53, RecentPrincipals: recent})
		}
		return list
	}
	want := window(1)
	want.Checks = nil
	for i := range 10_000 {
		want.Checks = append(want.Checks, metrics.CheckCounter{Permission: long("p", i, 256), ScopeType: long("t", i, 256), Scope: long("s", i, 1024),
			Decision: metrics.Deny, Shape: metrics.ShapeRequireAny, Observed: authz.MaxInstant, Estimated: 1 << 53})
	}
	want.Grants, want.Revokes, want.Roles = rows("g"), rows("v"), rows("r")
	got := make(chan metrics.Window, 1)
	sink := bridgedSink(t, func(_ context.Context, w metrics.Window) error { got <- w; return nil })
	if err := sink.Write(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, <-got) {
		t.Error("it changed on its way")
	}
}

func TestAWindowThatIsNoneIsNotSent(t *testing.T) {
	sink := bridgedSink(t, func(context.Context, metrics.Window) error { return errors.New("reached") })
	for _, w := range []metrics.Window{{}, window(0)} {
		if err := sink.Write(t.Context(), w); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("got %v", err)
		}
	}
}

// A writer that is not this SDK's: the plugin refuses by itself.
func TestAPluginRefusesWhatIsNoWindow(t *testing.T) {
	reached := atomic.Int32{}
	sink := &testSink{write: func(context.Context, metrics.Window) error { reached.Add(1); return nil }}
	b := serve(t, serveKinds(nil, sink, nil), nil)
	client, conn := b.dial(t)
	if _, err := client.Configure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	raw := pluginv1.NewMetricsSinkClient(conn)
	head := &pluginv1.WindowHead{Application: "docs", Origin: "o", Sequence: 1}
	for name, c := range map[string]struct {
		parts []*pluginv1.WindowPart
		want  codes.Code
	}{
		"nothing":          {nil, codes.InvalidArgument},
		"two heads":        {[]*pluginv1.WindowPart{{Head: head}, {Head: head, End: true}}, codes.InvalidArgument},
		"no end":           {[]*pluginv1.WindowPart{{Head: head}}, codes.InvalidArgument},
		"a negative count": {[]*pluginv1.WindowPart{{Head: head, End: true, Checks: []*pluginv1.CheckCounter{{Observed: -1}}}}, codes.InvalidArgument},
		"a whole one":      {[]*pluginv1.WindowPart{{Head: head, End: true}}, codes.OK},
	} {
		st, err := raw.Write(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range c.parts {
			if err := st.Send(part); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := st.CloseAndRecv(); status.Code(err) != c.want {
			t.Errorf("%s gave %v", name, err)
		}
	}
	// Bytes that are no message of the schema: an application that is not UTF-8.
	st, err := conn.NewStream(t.Context(), &pluginv1.MetricsSink_ServiceDesc.Streams[0], pluginv1.MetricsSink_Write_FullMethodName, grpc.ForceCodec(rawCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.SendMsg([]byte("\x0a\x03\x0a\x01\xff")), st.CloseSend()); err != nil {
		t.Fatal(err)
	}
	var answer []byte
	if err := st.RecvMsg(&answer); status.Code(err) != codes.Internal {
		t.Errorf("text that is not UTF-8 gave %v", err)
	}
	if reached.Load() != 1 {
		t.Errorf("%d windows reached the sink", reached.Load())
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string                          { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error)         { return v.([]byte), nil }
func (rawCodec) Unmarshal(data []byte, into any) error { *into.(*[]byte) = data; return nil }

// rawImporter is an importer's plugin that is not this SDK's.
type rawImporter struct {
	pluginv1.UnimplementedPluginServer
	pluginv1.UnimplementedDirectoryImporterServer
	chunks []*pluginv1.ImportChunk
	err    error
}

func (*rawImporter) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureReply, error) {
	return &pluginv1.ConfigureReply{Importer: &pluginv1.ImporterInfo{Name: "raw"}}, nil
}

func (i *rawImporter) Import(_ *pluginv1.ImportRequest, st grpc.ServerStreamingServer[pluginv1.ImportChunk]) error {
	for _, c := range i.chunks {
		if err := st.Send(c); err != nil {
			return err
		}
	}
	return i.err
}

func TestAHostRefusesWhatIsNoReading(t *testing.T) {
	begin := &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Begin{Begin: &pluginv1.ImportBegin{}}}
	end := &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_End{End: &pluginv1.ImportEnd{}}}
	user := &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_User{User: &pluginv1.ImportUser{UserId: "u"}}}
	wide := &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Group{Group: &pluginv1.ImportGroup{Name: strings.Repeat("n", 7<<19)}}}
	vast := &pluginv1.ImportEntry{Of: &pluginv1.ImportEntry_Group{Group: &pluginv1.ImportGroup{Name: strings.Repeat("n", 5<<20)}}}
	chunk := func(entries ...*pluginv1.ImportEntry) *pluginv1.ImportChunk {
		return &pluginv1.ImportChunk{Entries: entries}
	}
	for name, c := range map[string]struct {
		told   *rawImporter
		before int
		code   authz.Code // "" is unavailable
	}{
		"an unknown entry":         {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin, &pluginv1.ImportEntry{}, end)}}, 1, authz.CodeValidation},
		"an entry before begin":    {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(user, begin, end)}}, 0, authz.CodeValidation},
		"two begins":               {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin), chunk(begin, end)}}, 1, authz.CodeValidation},
		"an entry after the end":   {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin, end), chunk(user)}}, 2, authz.CodeValidation},
		"an entry too large":       {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin), chunk(wide, end)}}, 1, authz.CodeValidation},
		"a message too large":      {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin), chunk(vast, end)}}, 1, authz.CodeValidation},
		"no end":                   {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin, user)}}, 2, ""},
		"nothing at all":           {&rawImporter{}, 0, ""},
		"a status without details": {&rawImporter{chunks: []*pluginv1.ImportChunk{chunk(begin)}, err: status.Error(codes.NotFound, "secret")}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("unix", t.TempDir()+"/s")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			pluginv1.RegisterPluginServer(server, c.told)
			pluginv1.RegisterDirectoryImporterServer(server, c.told)
			go server.Serve(listener) // ends with Stop
			t.Cleanup(server.Stop)
			conn, err := grpc.NewClient("unix:"+listener.Addr().String(), append(plugin.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			configured, err := plugin.NewClient(conn).Configure(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := readAll(t.Context(), configured.Importer, "")
			var outage *authz.UnavailableError
			if len(entries) != c.before || authz.CodeOf(err) != c.code || c.code == "" && !errors.As(err, &outage) || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("%d entries, then %v", len(entries), err)
			}
		})
	}
}

// endless tells people until its reader has enough, and counts them.
func endless(told *atomic.Int64, stopped chan<- struct{}) func(context.Context, directory.Request) iter.Seq2[directory.Entry, error] {
	return func(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
		return func(yield func(directory.Entry, error) bool) {
			defer close(stopped)
			for ok := yield(directory.Begin{}, nil); ok; ok = yield(directory.Group{ID: "g", Description: strings.Repeat("x", 10_000)}, nil) {
				told.Add(1)
			}
		}
	}
}

func TestAnImporterGoesOnAsItsReaderReads(t *testing.T) {
	var told atomic.Int64
	stopped := make(chan struct{})
	importer := bridgedImporter(t, endless(&told, stopped))
	read := 0
	for _, err := range importer.Import(t.Context(), directory.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 2 {
			// Nobody reads now: what is told meanwhile is what the wire holds.
			last := int64(-1)
			eventually(t, "the importer waits for its reader", func() bool {
				now := told.Load()
				settled := now == last
				last = now
				time.Sleep(100 * time.Millisecond)
				return settled
			})
			if last > 2000 { // 20 MB
				t.Errorf("%d entries were told to a reader that had read two", last)
			}
		}
		if read == 6_000 {
			break
		}
	}
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Error("a reader that stopped left the importer going")
	}
	if told.Load() < 6_000 {
		t.Errorf("%d entries were told, %d read", told.Load(), read)
	}
}

func TestAReadingCanBeUsedTwiceAndTakesItsCursor(t *testing.T) {
	cursors := make(chan string, 4)
	importer := bridgedImporter(t, func(_ context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
		return func(yield func(directory.Entry, error) bool) {
			cursors <- r.Cursor
			_ = yield(directory.Begin{Incremental: r.Cursor != ""}, nil) && yield(directory.End{Cursor: r.Cursor + "+"}, nil)
		}
	})
	sequence := importer.Import(t.Context(), directory.Request{Cursor: "c"})
	for range 2 {
		var last directory.Entry
		for e, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		if diff := cmp.Diff(directory.Entry(directory.End{Cursor: "c+"}), last); diff != "" || <-cursors != "c" {
			t.Error(diff)
		}
	}
	for _, cursor := range []string{"\xff", strings.Repeat("c", 65<<10)} {
		if _, err := readAll(t.Context(), importer, cursor); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("a cursor that is none gave %v", err)
		}
	}
}

func TestTheWidestEntryCrosses(t *testing.T) {
	wide := directory.Membership{UserID: "u"}
	for i := range 10_000 {
		wide.Groups = append(wide.Groups, fmt.Sprintf("cn=%0280d,dc=example", i))
	}
	odd := directory.Warning{Message: "Ä\xff"}
	want := []directory.Entry{directory.Begin{}, wide, wide, directory.Warning{Message: "Ä\uFFFD"}, wide, directory.End{}}
	got, err := readAll(t.Context(), bridgedImporter(t, told(nil, directory.Begin{}, wide, wide, odd, wide, directory.End{})), "")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v, %.300s", err, diff)
	}
}

func TestWhatATruePluginTellsWrongIsRefusedByItsOwnSide(t *testing.T) {
	importer := bridgedImporter(t, told(nil, directory.Begin{}, directory.Begin{}, directory.End{}))
	if entries, err := readAll(t.Context(), importer, ""); len(entries) != 1 || authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("%d entries, then %v", len(entries), err)
	}
	importer = bridgedImporter(t, told(nil, directory.Begin{}))
	var outage *authz.UnavailableError
	if entries, err := readAll(t.Context(), importer, ""); len(entries) != 1 || !errors.As(err, &outage) {
		t.Errorf("%d entries, then %v", len(entries), err)
	}
}
