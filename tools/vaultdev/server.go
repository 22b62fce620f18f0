package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/logical/transit"
	configuration "github.com/hashicorp/vault/command/server"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// stopTimeout limits how long open requests may continue when the server stops.
const stopTimeout = 100 * time.Millisecond

// server is a Vault.
type server struct {
	core      *vault.Core
	http      *http.Server
	unsealKey string // in base64, as `vault operator unseal` expects it
	rootToken string
	failed    chan error
}

// startDev starts an initialised and unsealed Vault that stores its data in memory.
func startDev(listener net.Listener, level string, log io.Writer) (*server, error) {
	logger := newLogger(level, log)
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return nil, err
	}
	s, err := newServer(storage, "http://"+listener.Addr().String(), logger)
	if err != nil {
		return nil, err
	}
	if err := s.open(context.Background()); err != nil {
		return nil, errors.Join(err, s.core.Shutdown())
	}
	s.serve(listener, &configutil.Listener{})
	return s, nil
}

// startConfigured starts a Vault with the settings in a file or a folder, which `vault server` also accepts. It
// implements only one listener and the storage "file". The Vault is sealed.
func startConfigured(path, level string, log io.Writer) (*server, error) {
	settings, err := configuration.LoadConfig(path)
	if err != nil {
		return nil, err
	}
	if settings.Storage == nil || settings.Storage.Type != "file" || len(settings.Listeners) != 1 {
		return nil, fmt.Errorf("%s must have one listener and the storage \"file\"", path)
	}
	logger := newLogger(level, log)
	storage, err := file.NewFileBackend(settings.Storage.Config, logger)
	if err != nil {
		return nil, err
	}
	listener, _, _, err := configuration.NewListener(settings.Listeners[0], log, nil)
	if err != nil {
		return nil, err
	}
	s, err := newServer(storage, settings.APIAddr, logger)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.serve(listener, settings.Listeners[0])
	return s, nil
}

func newLogger(level string, log io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.LevelFromString(level), Output: log})
}

func newServer(storage physical.Backend, address string, logger hclog.Logger) (*server, error) {
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		LogicalBackends:    map[string]logical.Factory{"transit": transit.Factory},
		CredentialBackends: map[string]logical.Factory{"approle": approle.Factory, "kubernetes": kubernetes.Factory},
		BuiltinRegistry:    builtins{},
		Logger:             logger,
		DisableMlock:       true, // mlock needs extra privileges, and the secrets are only test data
		RedirectAddr:       address,
	})
	return &server{core: core, failed: make(chan error, 1)}, err
}

func (s *server) serve(listener net.Listener, settings *configutil.Listener) {
	s.http = &http.Server{
		Handler:           vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: s.core, ListenerConfig: settings}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { s.failed <- s.http.Serve(listener) }()
}

// open initialises Vault with one unseal key and a root token, and unseals it.
func (s *server) open(ctx context.Context) error {
	once := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	made, err := s.core.Initialize(ctx, &vault.InitParams{BarrierConfig: once, RecoveryConfig: once})
	if err != nil {
		return err
	}
	s.unsealKey, s.rootToken = base64.StdEncoding.EncodeToString(made.SecretShares[0]), made.RootToken
	unsealed, err := s.core.Unseal(made.SecretShares[0])
	if err == nil && !unsealed {
		err = errors.New("Vault stays sealed after unsealing")
	}
	return err
}

func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	return s.core.Shutdown()
}

// builtins provides the secrets engines and auth methods that can be mounted.
type builtins struct{}

func kinds() map[consts.PluginType]map[string]logical.Factory {
	return map[consts.PluginType]map[string]logical.Factory{
		consts.PluginTypeSecrets:    {"transit": transit.Factory},
		consts.PluginTypeCredential: {"approle": approle.Factory, "kubernetes": kubernetes.Factory},
	}
}

func (builtins) Contains(name string, kind consts.PluginType) bool {
	_, known := kinds()[kind][name]
	return known
}

func (builtins) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	factory, known := kinds()[kind][name]
	if !known {
		return nil, false
	}
	return func() (any, error) { return factory, nil }, true
}

func (builtins) Keys(kind consts.PluginType) (names []string) {
	for name := range kinds()[kind] {
		names = append(names, name)
	}
	return names
}

func (b builtins) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, b.Contains(name, kind)
}

func (builtins) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
