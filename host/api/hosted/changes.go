package hosted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/changes"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
)

const eventStream = "text/event-stream"

// Times of a stream: how often it says that it is there, and how often it looks whether
// its caller may still be told. A write to the account has it look at once.
const (
	streamBeat  = 15 * time.Second
	streamCheck = 5 * time.Second
)

// LookAt looks at the places of an org that somebody may wait for.
func LookAt(core *service.Service, root *orgroot.Root) changes.Look {
	return func(ctx context.Context, at changes.Place, before string) (string, error) {
		if at.Name == changes.Account {
			return core.AccountPosition(ctx, at.Org)
		}
		application := "" // the org root
		if id, named := strings.CutPrefix(at.Name, changes.Application); named {
			application = id
		}
		return root.Position(ctx, at.Org, application, before)
	}
}

type watchChanges struct {
	inOrg
	Application string `query:"application,omitempty" min:"1"`
}

func changeRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/changes", Summary: "Be told when something is written", Gate: service.AnySeat, Signals: true, Produces: eventStream,
		Own: []string{"application_not_found", "not_linked"}},
		func(ctx context.Context, c *Call, in watchChanges) (stream, error) {
			names := []string{changes.Account, changes.Root}
			if in.Application != "" {
				if err := c.root().IsLinked(ctx, in.Org, in.Application); err != nil {
					return stream{}, err
				}
				names = append(names, changes.Application+in.Application)
			}
			done, limited := c.api.limits.stream(string(c.Caller.Kind) + " " + c.Caller.CredentialID)
			if limited != nil {
				return stream{}, limited
			}
			return stream{c.api.o.Services.Changes.Wait(in.Org, names...), done}, nil
		})
}

// stream tells of changes as server-sent events.
type stream struct {
	waiter *changes.Waiter
	done   func()
}

type changed struct {
	Changed []string `json:"changed"`
}

type ended struct {
	Code string `json:"code"`
}

func (s stream) respond(c *Call, w http.ResponseWriter) error {
	defer s.done()
	defer s.waiter.Close()
	control := http.NewResponseController(w)
	c.header.Set("Content-Type", eventStream)
	c.header.Set("X-Accel-Buffering", "no") // a proxy that keeps it back would tell nothing
	say := func(text string) error {
		_ = control.SetWriteDeadline(time.Now().Add(answerTimeout))
		_, err := io.WriteString(w, text+"\n\n")
		return errors.Join(err, control.Flush())
	}
	event := func(name string, data any) error {
		text, err := authz.Marshal(data)
		if err != nil {
			return err
		}
		return say(fmt.Sprintf("event: %s\ndata: %s", name, text))
	}
	beat, check, over := time.NewTicker(streamBeat), time.NewTicker(streamCheck), time.NewTimer(maxStream)
	defer beat.Stop()
	defer check.Stop()
	defer over.Stop()
	gone := c.Request.Context().Done()
	err := say("retry: 2000")
	for err == nil { // whoever cannot be written to is gone: nobody is there to be told
		looks := false
		var names []string
		select {
		case <-gone:
			return nil
		case <-over.C:
			return nil
		case <-s.waiter.Ready:
			var last bool
			if names, last = s.waiter.Changed(); last {
				return nil
			}
			looks = slices.Contains(names, changes.Account)
		case <-check.C:
			looks = true
		case <-beat.C:
			err = say(": still here")
		}
		if looks {
			if code := c.barred(); code != "" {
				_ = event("end", ended{code})
				return nil
			}
		}
		if len(names) > 0 {
			err = event("change", changed{names})
		}
	}
	return nil
}

// barred is why the caller may be told no more, "" while they may: what cannot be found
// out tells nothing that they could not read before.
func (c *Call) barred() (code string) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), answerTimeout)
	defer cancel()
	p, _ := c.presented()
	core := c.api.o.Services.Core
	caller, err := core.Authenticate(ctx, p)
	if err != nil {
		return refusal(err)
	}
	_, err = core.Authorize(ctx, caller, c.org(), "", c.endpoint.Gate, false)
	if code = refusal(err); code == "" {
		return ""
	}
	_, err = core.Authenticate(ctx, p) // the commit that took the seat ended its sessions too
	return cmp.Or(refusal(err), code)
}

// refusal is the code of an error that bars a caller, "" for an outage and for none.
func refusal(err error) string {
	var e *fault.Error
	if errors.As(err, &e) && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, statusOf(e)) {
		return e.Code
	}
	return ""
}
