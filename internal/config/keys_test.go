package config

import (
	"bytes"
	"testing"
)

func TestKeysValidate(t *testing.T) {
	const form = "needs 32 bytes in standard base64, as `openssl rand -base64 32` prints them"
	for _, c := range []struct {
		name string
		keys Keys
		want []string
	}{
		{"one key", Keys{Platform: []Secret{keyA}}, nil},
		{"two keys and a wrapper", Keys{Platform: []Secret{keyA, keyB}, Local: keyC, WriteWith: WrapperLocal}, nil},
		{"none", Keys{}, []string{"keys.platform_keys: required; set it in the file or in PINGPOST_PLATFORM_KEYS"}},
		{"short, unpadded, URL alphabet, stray bits, empty",
			Keys{Platform: []Secret{"QUFB", Secret(keyA[:43]), Secret("__" + keyA[2:]), Secret(keyA[:42] + "F="), ""}},
			[]string{
				"keys.platform_keys[0]: " + form, "keys.platform_keys[1]: " + form, "keys.platform_keys[2]: " + form,
				"keys.platform_keys[3]: " + form, "keys.platform_keys[4]: " + form,
			}},
		{"a key thrice", Keys{Platform: []Secret{keyA, keyB, keyA, keyA}}, []string{
			"keys.platform_keys[2]: is the same key as keys.platform_keys[0]; take one away",
			"keys.platform_keys[3]: is the same key as keys.platform_keys[0]; take one away",
		}},
		{"a bad wrapper", Keys{Platform: []Secret{keyA}, Local: "short"}, []string{"keys.local_kek: " + form}},
		{"one key for two purposes", Keys{Platform: []Secret{keyB, keyA}, Local: keyA},
			[]string{"keys.local_kek: is the same key as keys.platform_keys[1]; each purpose needs its own"}},
		{"vault", Keys{Platform: []Secret{keyA}, Local: keyC, WriteWith: WrapperVault}, nil},
		{"local without its key", Keys{Platform: []Secret{keyA}, WriteWith: WrapperLocal},
			[]string{"keys.write_with: local: not configured; set keys.local_kek or LEAD_VAULT_KEK"}},
		{"another wrapper", Keys{Platform: []Secret{keyA}, WriteWith: "kms"}, []string{"keys.write_with: must be local or vault"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkProblems(t, c.keys.Validate(), c.want...)
		})
	}
}

func TestDecodedKeys(t *testing.T) {
	k := Keys{Platform: []Secret{keyB, keyA}, Local: keyC}
	got := k.PlatformKeys()
	if len(got) != 2 || !bytes.Equal(got[0], bytes.Repeat([]byte("B"), 32)) || !bytes.Equal(got[1], bytes.Repeat([]byte("A"), 32)) {
		t.Errorf("platform keys %q", got)
	}
	if !bytes.Equal(k.LocalKEK(), bytes.Repeat([]byte("C"), 32)) {
		t.Errorf("local key %q", k.LocalKEK())
	}
	if none := (&Keys{}).LocalKEK(); none != nil {
		t.Errorf("a local key of %d bytes out of nothing", len(none))
	}
}

func TestWhichWrapperWrites(t *testing.T) {
	there := Vault{Address: "https://vault.example.com"}
	for _, c := range []struct {
		keys  Keys
		vault Vault
		want  Wrapper
	}{
		{Keys{}, Vault{}, ""},
		{Keys{Local: keyC}, Vault{}, WrapperLocal},
		{Keys{}, there, WrapperVault},
		{Keys{Local: keyC, WriteWith: WrapperVault}, there, WrapperVault},
		{Keys{Local: keyC, WriteWith: WrapperLocal}, there, WrapperLocal},
	} {
		if got := (&Config{Keys: c.keys, Vault: c.vault}).Wrapper(); got != c.want {
			t.Errorf("%+v and %+v write with %q, want %q", c.keys, c.vault, got, c.want)
		}
	}
	login := []string{"PINGPOST_VAULT_ADDRESS=https://vault.example.com", "PINGPOST_VAULT_ROLE_ID=role", "PINGPOST_VAULT_SECRET_ID=secret"}
	_, err := loadText("", append(sufficient(), login...)...)
	checkProblems(t, err, "keys.write_with: must be local or vault: both are configured, and one of them writes")
	_, err = loadText("keys: {write_with: vault}\n", sufficient()...)
	checkProblems(t, err, "pingpost.yaml:1: keys.write_with: vault: not configured; set vault.address or PINGPOST_VAULT_ADDRESS")
	if cfg, err := loadText("keys: {write_with: vault}\n", append(sufficient(), login...)...); err != nil || cfg.Wrapper() != WrapperVault {
		t.Errorf("%v", err)
	}
}
