// Command several serves a metrics sink and a directory importer, both over one
// server of lines. Its setting defect breaks one of them.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

func main() {
	plugin.Serve(plugin.Plugin{
		Name: "several",
		Sink: plugin.SinkKind{Capabilities: []metrics.SinkCapability{metrics.SinkRecognises},
			Configure: func(_ context.Context, config map[string]any) (metrics.Sink, error) { return openSink(config) }},
		Importer: plugin.ImporterKind{Capabilities: []directory.ImporterCapability{directory.CapUsers},
			Configure: func(_ context.Context, config map[string]any) (directory.Importer, error) {
				ctx, cancel := context.WithCancel(context.Background())
				return &importer{far: farOf(config), ctx: ctx, cancel: cancel, defect: text(config, "defect")}, nil
			}},
		ConfigSchema: []plugin.Setting{
			{Name: "server", Type: plugin.TypeString, Required: true, Description: "host:port of the server of lines"},
			{Name: "token", Type: plugin.TypeString, Secret: true, Description: "sent to it"},
			{Name: "state", Type: plugin.TypeString, Required: true, Description: "the file of the sink's totals"},
			{Name: "listen", Type: plugin.TypeString, Description: "where the totals are told"},
			{Name: "defect", Type: plugin.TypeString, Description: "what is broken"},
		},
	})
}

func text(config map[string]any, name string) string {
	s, _ := config[name].(string)
	return s
}

// far is the server of lines.
type far struct{ address, token string }

func farOf(config map[string]any) far { return far{text(config, "server"), text(config, "token")} }

// ask sends a line; the connection ends with ctx.
func (f far) ask(ctx context.Context, line string) (*bufio.Scanner, func(), error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", f.address)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end := func() { stop(); _ = conn.Close() }
	if _, err := fmt.Fprintf(conn, "%s %s\n", line, f.token); err != nil {
		end()
		return nil, nil, err
	}
	return bufio.NewScanner(conn), end, nil
}

func unavailable(o authz.Outcome, cause error, why string) error {
	return &authz.UnavailableError{Message: why, Outcome: o, Cause: cause}
}

// timeout bounds a wait that nothing else bounds.
const timeout = 30 * time.Second
