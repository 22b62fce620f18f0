package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/platform/config"
)

const healthTimeout = 5 * time.Second

func healthCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "health", Short: "Check the health of the node on this machine", Args: noArgs,
		Long: "Check the health of the node on this machine, for container platforms whose health check is a\n" +
			"command. It calls /healthz on the node's http.ops_addr, and exits with 1 if the node does not respond.\n" +
			"With --ready, it calls /readyz, prints the checks that fail, and exits with 1 unless the node is ready.",
	}
	file, asJSON := configFlag(c), jsonFlag(c)
	ready := c.Flags().Bool("ready", false, "check that the node is ready for posts and the console")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve, config.SectionHTTP))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.Context(), healthTimeout)
		defer cancel()
		path := "/healthz"
		if *ready {
			path = "/readyz"
		}
		status, body, err := callNode(ctx, cfg.HTTP, path)
		if err != nil {
			return fmt.Errorf("the node does not respond: %w", err)
		}
		var health healthView
		_ = json.Unmarshal(body, &health) // the response of /healthz contains no checks
		health.OK = status == http.StatusOK
		if *asJSON {
			err = printJSON(c.OutOrStdout(), health)
		} else {
			health.print(c.OutOrStdout())
		}
		switch {
		case health.OK:
		case *ready:
			err = errors.Join(err, errors.New("the node is not ready"))
		default:
			err = errors.Join(err, fmt.Errorf("/healthz returned %d", status))
		}
		return err
	}
	return c
}

// callNode sends a request to the node on this machine, and returns the status and the body of the response.
func callNode(ctx context.Context, h config.HTTP, path string) (status int, body []byte, err error) {
	host, port, err := net.SplitHostPort(h.OpsAddr)
	if err != nil {
		return 0, nil, err
	}
	if ip, _ := netip.ParseAddr(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1" // "localhost" may not be known in a container
	}
	url, transport := "http://", &http.Transport{}
	if h.TLSCertFile != "" {
		url = "https://"
		// The certificate may be for another name or have expired. The request contains no secret.
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

type healthView struct {
	OK     bool              `json:"ok"`
	Checks map[string]string `json:"checks,omitempty"` // "ok", or what is wrong
}

// print prints "ok", or the checks that are not ok.
func (v healthView) print(w io.Writer) {
	if v.OK {
		fmt.Fprintln(w, "ok")
		return
	}
	for _, check := range slices.Sorted(maps.Keys(v.Checks)) {
		if text := v.Checks[check]; text != "ok" {
			fmt.Fprintf(w, "%s: %s\n", check, text)
		}
	}
}
