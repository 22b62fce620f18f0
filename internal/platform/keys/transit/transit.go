// Package transit is the key wrapper for HashiCorp Vault's Transit engine (decision 23).
//
// Vault wraps and unwraps data keys, and the wrapping key never leaves Vault. A node's identity is
// only allowed to encrypt, and only with this key. docs/how-to/prepare-vault.md contains the
// policies and the commands that create them.
//
// The package does not use associated data, because Transit ignores it when it rewraps keys.
// Instead, package envelope binds each data key to its lead.
package transit

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/vault/api"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/pemfile"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/tracing"
)

// Name is the prefix of keys wrapped by Transit, such as vault:v1:….
const Name = "vault"

// Options contains the address of Vault, the key and the login.
type Options struct {
	Address   string // https://vault.example:8200
	Namespace string // Vault Enterprise only; "" for none
	CAFile    string // CA of Vault's certificate; "" for the system's CAs
	Mount     string // of the Transit engine, such as "transit"
	Key       string // name of the Transit key, such as "pingpost-leads"
	Login     Login
	Attempts  *Attempts     // limits AppRole logins; nil for no limit
	Timeout   time.Duration // maximum time for one call
	Clock     clock.Clock
}

// Wrapper implements envelope.Rewrapper. It is safe for concurrent use and logs in when
// necessary.
type Wrapper struct {
	vault   *api.Client
	mount   string
	key     string
	timeout time.Duration
	session session
	calls   calls
}

var _ envelope.Rewrapper = (*Wrapper)(nil)

// New returns a wrapper. It does not call Vault.
func New(o Options) (*Wrapper, error) {
	client, err := newClient(o)
	if err != nil {
		return nil, err
	}
	loginClient, err := newClient(o)
	if err != nil {
		return nil, err
	}
	w := &Wrapper{vault: client, mount: o.Mount, key: o.Key, timeout: o.Timeout}
	w.session = session{
		login:    o.Login,
		attempts: o.Attempts,
		vault:    loginClient,
		use:      client.SetToken,
		clock:    o.Clock,
		calls:    &w.calls,
	}
	return w, nil
}

func newClient(o Options) (*api.Client, error) {
	if o.CAFile != "" {
		if err := pemfile.CheckCertificates(o.CAFile); err != nil {
			return nil, fmt.Errorf("vault.ca_file %s: %w", o.CAFile, err)
		}
	}
	// Without TLS settings in the transport, ConfigureTLS would ignore the CA.
	transport := cleanhttp.DefaultPooledTransport()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	pooled := cleanhttp.DefaultPooledClient()
	pooled.Transport = transport
	config := &api.Config{Address: o.Address, HttpClient: pooled}
	if err := config.ConfigureTLS(&api.TLSConfig{CACert: o.CAFile}); err != nil {
		return nil, fmt.Errorf("vault.ca_file: %w", err)
	}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("vault.address: %w", err)
	}
	// The client reads a token and a namespace from VAULT_… variables, which are meant for Vault's
	// command line. Its retries pause longer than a post can wait. Its timeout would cancel a request
	// before the body of a raw response is read, so write sets a timeout of its own.
	client.ClearToken()
	client.ClearNamespace()
	client.SetMaxRetries(0)
	client.SetClientTimeout(0)
	if o.Namespace != "" {
		client.SetNamespace(o.Namespace)
	}
	return client, nil
}

// Name implements envelope.KeyWrapper.
func (w *Wrapper) Name() string { return Name }

// Keys implements envelope.KeyWrapper. It returns the mount and the name of the key, without a version,
// because leads with all versions of the key can be read.
func (w *Wrapper) Keys() []string { return []string{w.mount + "/" + w.key} }

// Reads implements envelope.KeyWrapper. It returns true for every text that has the form of a Transit
// version, because only Vault knows which versions still exist.
func (w *Wrapper) Reads(version string) bool { return Version(version) > 0 }

// Version returns the number of a key version, such as 3 for "v3", or 0 if text is not a key
// version.
func Version(text string) int {
	if len(text) < 2 || text[0] != 'v' || text[1] < '1' || text[1] > '9' {
		return 0
	}
	n, err := strconv.Atoi(text[1:])
	if err != nil {
		return 0
	}
	return n
}

type encryptItem struct {
	Plaintext []byte `json:"plaintext"` // base64, by encoding/json
}

type ciphertextItem struct {
	Ciphertext string `json:"ciphertext"`
}

// result is Transit's result for one item.
type result struct {
	Ciphertext string `json:"ciphertext"`
	Plaintext  string `json:"plaintext"`
	Error      string `json:"error"`
}

// Wrap implements envelope.KeyWrapper. It makes one call to Vault.
func (w *Wrapper) Wrap(ctx context.Context, keys [][envelope.KeySize]byte) ([][]byte, error) {
	items := make([]encryptItem, len(keys))
	for i := range keys {
		items[i].Plaintext = keys[i][:]
	}
	results, err := batch(ctx, w, "encrypt", items)
	if err != nil {
		return nil, err
	}
	wrapped := make([][]byte, len(results))
	for i, r := range results {
		if wrapped[i], err = r.wrapped(); err != nil {
			return nil, err
		}
	}
	return wrapped, nil
}

// Unwrap implements envelope.KeyWrapper. It makes one call to Vault.
func (w *Wrapper) Unwrap(ctx context.Context, wrapped [][]byte) ([]envelope.Unwrapped, error) {
	results, err := batch(ctx, w, "decrypt", ciphertexts(wrapped))
	if err != nil {
		return nil, err
	}
	out := make([]envelope.Unwrapped, len(results))
	for i, r := range results {
		out[i].Key, out[i].Err = r.plain()
	}
	return out, nil
}

// Rewrap implements envelope.Rewrapper. It makes one call to Vault.
func (w *Wrapper) Rewrap(ctx context.Context, wrapped [][]byte) ([]envelope.Rewrapped, error) {
	results, err := batch(ctx, w, "rewrap", ciphertexts(wrapped))
	if err != nil {
		return nil, err
	}
	out := make([]envelope.Rewrapped, len(results))
	for i, r := range results {
		out[i].Wrapped, out[i].Err = r.wrapped()
	}
	return out, nil
}

// MayDecrypt reports whether the identity is allowed to decrypt with the key. It sends a decrypt
// call without a ciphertext, which Vault either denies or reports as incomplete.
func (w *Wrapper) MayDecrypt(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	if _, err := w.session.token(ctx); err != nil {
		return false, err
	}
	response, err := w.vault.Logical().WriteRawWithContext(ctx, w.mount+"/decrypt/"+w.key, []byte("{}"))
	if response != nil && response.Body != nil {
		response.Body.Close() //nolint:errcheck // it was only used for reading
	}
	err = explain(err)
	var answered *Error
	if errors.As(err, &answered) && (answered.Status == statusBadRequest || answered.Status == statusForbidden) {
		return answered.Status == statusBadRequest, nil
	}
	return false, err
}

func ciphertexts(wrapped [][]byte) []ciphertextItem {
	items := make([]ciphertextItem, len(wrapped))
	for i, text := range wrapped {
		items[i].Ciphertext = string(text)
	}
	return items
}

func (r result) wrapped() ([]byte, error) {
	if r.Error != "" {
		return nil, fmt.Errorf("%w: Vault reports: %s", envelope.ErrNotWrapped, r.Error)
	}
	name, version, err := envelope.ParseWrapped([]byte(r.Ciphertext))
	if err != nil || name != Name || Version(version) == 0 {
		return nil, errors.New("the response from Vault is not a wrapped key")
	}
	return []byte(r.Ciphertext), nil
}

func (r result) plain() (key [envelope.KeySize]byte, err error) {
	if r.Error != "" {
		return key, fmt.Errorf("%w: Vault reports: %s", envelope.ErrNotWrapped, r.Error)
	}
	plain, err := base64.StdEncoding.Strict().DecodeString(r.Plaintext)
	defer clear(plain)
	if err != nil || len(plain) != envelope.KeySize {
		return key, envelope.ErrNotWrapped
	}
	return [envelope.KeySize]byte(plain), nil
}

// batch sends items to one of the engine's operations. It returns one result for each item, or
// an error.
func batch[T any](ctx context.Context, w *Wrapper, operation string, items []T) ([]result, error) {
	if len(items) == 0 {
		return nil, nil
	}
	body, err := json.Marshal(struct {
		Items []T `json:"batch_input"`
		// Without this, one invalid item makes the whole response an error.
		OnPartialFailure int `json:"partial_failure_response_code"`
	}{items, 200})
	if err != nil {
		return nil, err
	}
	defer clear(body)
	answer, err := w.write(ctx, operation, w.mount+"/"+operation+"/"+w.key, body)
	defer clear(answer)
	var response struct {
		Data struct {
			Results []result `json:"batch_results"`
		} `json:"data"`
	}
	parsed := json.Unmarshal(answer, &response) == nil && len(response.Data.Results) == len(items)
	switch {
	case parsed: // even if there is an error, because each rejected item has its own reason
		return response.Data.Results, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("the response from Vault to %s does not have one result for each of %d items",
		operation, len(items))
}

// write sends a request with a body to Vault, as call does.
func (w *Wrapper) write(ctx context.Context, operation, path string, body []byte) ([]byte, error) {
	return w.call(ctx, operation, func(ctx context.Context) (*api.Response, error) {
		return w.vault.Logical().WriteRawWithContext(ctx, path, body)
	})
}

// call calls Vault with the session's token. If Vault rejects the token, call tries once more
// with a new one. It returns the body of the response even if there is an error.
func (w *Wrapper) call(
	ctx context.Context, operation string, send func(context.Context) (*api.Response, error),
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	for again := false; ; again = true {
		token, err := w.session.token(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := w.attempt(ctx, operation, send)
		var rejected *Error
		if errors.As(err, &rejected) && rejected.Status == statusForbidden && !again && w.session.markRejected(token) {
			continue
		}
		if err == nil {
			w.session.markAccepted(token)
		}
		return answer, err
	}
}

func (w *Wrapper) attempt(
	ctx context.Context, operation string, send func(context.Context) (*api.Response, error),
) (_ []byte, err error) {
	ctx, end := tracing.StartCall(ctx, "vault "+operation)
	defer func() { end(err) }()
	response, err := send(ctx)
	err = w.calls.count(operation, explain(err))
	if response == nil || response.Body == nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer bytes.Buffer
	if _, read := answer.ReadFrom(response.Body); read != nil && err == nil {
		err = w.calls.count(operation, explain(read))
	}
	return answer.Bytes(), err
}
