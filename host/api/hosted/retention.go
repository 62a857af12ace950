package hosted

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/sdk/authz"
)

type retentionFilter struct {
	Application string `query:"application,omitempty" min:"1"`
	auditFilter
}

func (f retentionFilter) of() retention.Filter {
	return retention.Filter{Application: present(f.Application), Action: present(f.Action), Actor: present(f.Actor), Target: present(f.Target), From: f.From, To: f.To}
}

// at is where a key of retention is asked for: at the application, when there is
// one.
func (f retentionFilter) at() string {
	if f.Application == "" {
		return authz.Global
	}
	return cloud.App(f.Application)
}

type listRetained struct {
	inOrg
	retentionFilter
	Paging
}

type retained struct {
	Events     []retention.Event `json:"events"`
	NextCursor *string           `json:"nextCursor"`
}

type exportRetained struct {
	inOrg
	retentionFilter
}

func retentionRows(t *table) {
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/applications/{app}/ingest-audit", Summary: "Copy what is new in an application's log",
		Gate: service.CloudAtApp(cloud.RetentionManage), Relayed: true, Piecemeal: true, Own: []string{"retention_off", "audit_stream_off"},
		Audit: []string{"A: retention.ingest"}, Meter: []string{"retained_audit_events"}},
		func(ctx context.Context, c *Call, in appOf) (retention.Result, error) {
			return c.api.o.Services.Retention.Ingest(ctx, c.Caller.Actor(), in.Org, in.App)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/retention", Summary: "Retained events", Gate: service.Me,
		GateText: cloud.RetentionRead + "@app of application, or @*", Own: []string{"forbidden", "inactive"}},
		func(ctx context.Context, c *Call, in listRetained) (out retained, err error) {
			if err := c.Access.Require(ctx, cloud.RetentionRead, in.at()); err != nil {
				return out, err
			}
			next := ""
			if in.Mode == "export" {
				out.Events, next, err = c.api.o.Services.Retention.Page(ctx, in.Org, in.of(), c.Page.After, c.Page.Limit)
			} else {
				out.Events, err = c.api.o.Services.Retention.Recent(ctx, in.Org, in.of(), c.Page.Limit)
			}
			if err != nil {
				return out, err
			}
			if out.Events == nil {
				out.Events = []retention.Event{}
			}
			out.NextCursor, err = c.next(next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/retention/export", Summary: "Export retained events", Gate: service.Me,
		GateText: cloud.RetentionExport + ", same scopes", Own: []string{"forbidden", "inactive"}, Produces: ndjson, Within: maxStream,
		Audit: []string{"A: retention.export"}},
		func(ctx context.Context, c *Call, in exportRetained) (export, error) {
			if err := c.Access.Require(ctx, cloud.RetentionExport, in.at()); err != nil {
				return export{}, err
			}
			done, limited := c.api.limits.export(in.Org)
			if limited != nil {
				return export{}, limited
			}
			events, err := c.api.o.Services.Retention.Export(ctx, c.Caller.Actor(), in.Org, in.of())
			if err != nil {
				done()
				return export{}, err
			}
			return export{events: events, done: done}, nil
		})
}

const ndjson = "application/x-ndjson"

// maxStream bounds a stream in all, so that none runs for ever; progress is
// bounded by answerTimeout for each write.
const maxStream = time.Hour

// export is one retained event a line, then a line that says it was all of them.
type export struct {
	events iter.Seq2[retention.Event, error]
	done   func()
}

type exportEnd struct {
	End   bool `json:"end"`
	Count int  `json:"count"`
}

func (e export) respond(c *Call, w http.ResponseWriter) error {
	defer e.done()
	control := http.NewResponseController(w)
	c.header.Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	started, n := false, 0
	line := func(v any) error {
		text, err := authz.Marshal(v)
		if err != nil {
			return err
		}
		_ = control.SetWriteDeadline(time.Now().Add(answerTimeout)) // a writer without one has no connection to stall
		if !started {
			started = true
			c.header.Set("Content-Type", ndjson)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	for event, err := range e.events {
		if err == nil {
			err = line(event)
		}
		switch {
		case err != nil && !started:
			c.header.Del("Content-Disposition")
			return err
		case err != nil: // the line that is missing tells that the stream was cut
			c.api.log.Warn("an export was cut", "request_id", c.requestID, "events", n, "error", err)
			panic(http.ErrAbortHandler)
		}
		n++
	}
	return line(exportEnd{true, n})
}
