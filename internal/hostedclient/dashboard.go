package hostedclient

import (
	"context"
	"net/http"
	"time"
)

// lookingAt is how long a host may take to say whether it has a dashboard: nobody waits
// long for the address of something that they did not ask for.
const lookingAt = 2 * time.Second

// Dashboard is the address of the host's dashboard, "" where it has none. Nothing is
// borne: the page is there for everybody who may reach the host.
func (c *Client) Dashboard(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookingAt)
	defer cancel()
	at := c.URL + "/dashboard"
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, at+"/", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", c.UserAgent)
	answer, err := c.do(req)
	if err != nil {
		return "", err
	}
	_ = answer.Body.Close() // of a HEAD
	if answer.StatusCode != http.StatusOK {
		return "", nil
	}
	return at, nil
}
