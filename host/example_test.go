package host_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// A program embeds a host: the configuration is that of authz serve, checks are function
// calls, and the program gives what no file can say.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := config.Load(config.Source{Path: "authz.yaml", Environ: os.Environ()})
	if err != nil {
		log.Fatal(err)
	}
	logs := hclog.New(&hclog.LoggerOptions{Output: os.Stderr})
	h, err := host.Open(ctx, cfg, host.Options{Logger: logs, Applications: map[string]host.ApplicationOptions{
		"docs": {
			Conditions: map[string]host.Condition{
				"docs.invoices.approve": func(ctx context.Context, p authz.Principal, scope string) (bool, error) { return inOfficeHours(), nil },
			},
			Observers: []metrics.Observer{metrics.ObserverFunc(func(o metrics.CheckObservation) error { return nil })},
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	docs, ok := h.Application("docs")
	if !ok {
		log.Fatal("the configuration has no application docs")
	}
	may, err := docs.Client().Can(ctx, authz.UserPrincipal("ann"), "docs.files.read", "docs.folder:9")
	fmt.Println(may, err)

	<-ctx.Done()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := h.Close(closing); err != nil {
		log.Print(err)
	}
}

func inOfficeHours() bool { return time.Now().Hour() >= 8 }
