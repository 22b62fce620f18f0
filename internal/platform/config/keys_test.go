package config

import (
	"bytes"
	"testing"
)

func TestKeysValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		keys Keys
		want []string
	}{
		{"one key", Keys{Platform: []Secret{keyA}}, nil},
		{"two keys and a wrapper", Keys{Platform: []Secret{keyA, keyB}, Local: []Secret{keyC}, WriteWith: WrapperLocal}, nil},
		{"none", Keys{}, []string{"keys.platform_keys PINGPOST_PLATFORM_KEYS"}},
		{"short, unpadded, URL alphabet, stray bits, empty",
			Keys{Platform: []Secret{"QUFB", Secret(keyA[:43]), Secret("__" + keyA[2:]), Secret(keyA[:42] + "F="), ""}},
			[]string{
				"keys.platform_keys[0]", "keys.platform_keys[1]", "keys.platform_keys[2]",
				"keys.platform_keys[3]", "keys.platform_keys[4]",
			}},
		{"duplicate keys", Keys{Platform: []Secret{keyA, keyB, keyA, keyA}}, []string{
			"keys.platform_keys[2] keys.platform_keys[0]",
			"keys.platform_keys[3] keys.platform_keys[0]",
		}},
		{"an invalid local key", Keys{Platform: []Secret{keyA}, Local: []Secret{keyC, "short"}}, []string{"keys.local_kek[1]"}},
		{"two local keys", Keys{Platform: []Secret{keyA}, Local: []Secret{keyC, keyB}}, nil},
		{"duplicate local keys", Keys{Platform: []Secret{keyA}, Local: []Secret{keyC, keyC}}, []string{"keys.local_kek[1] keys.local_kek[0]"}},
		{"one key for two purposes", Keys{Platform: []Secret{keyB, keyA}, Local: []Secret{keyC, keyA}},
			[]string{"keys.local_kek[1] keys.platform_keys[1]"}},
		{"vault", Keys{Platform: []Secret{keyA}, Local: []Secret{keyC}, WriteWith: WrapperVault}, nil},
		{"write_with without its key", Keys{Platform: []Secret{keyA}, WriteWith: WrapperLocal},
			[]string{"keys.write_with keys.local_kek LEAD_VAULT_KEK"}},
		{"another wrapper", Keys{Platform: []Secret{keyA}, WriteWith: "kms"}, []string{"keys.write_with"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkProblems(t, c.keys.Validate(), c.want...)
		})
	}
}

func TestDecodedKeys(t *testing.T) {
	k := Keys{Platform: []Secret{keyB, keyA}, Local: []Secret{keyC, keyA}}
	got := k.PlatformKeys()
	if len(got) != 2 || !bytes.Equal(got[0], bytes.Repeat([]byte("B"), 32)) ||
		!bytes.Equal(got[1], bytes.Repeat([]byte("A"), 32)) {
		t.Errorf("platform keys %q", got)
	}
	if got := k.LocalKEKs(); len(got) != 2 || !bytes.Equal(got[0], bytes.Repeat([]byte("C"), 32)) ||
		!bytes.Equal(got[1], bytes.Repeat([]byte("A"), 32)) {
		t.Errorf("local keys %q", got)
	}
	if none := (&Keys{}).LocalKEKs(); len(none) != 0 {
		t.Errorf("got %d local keys, want none", len(none))
	}
}

func TestWrapper(t *testing.T) {
	there := Vault{Address: "https://vault.example.com"}
	for _, c := range []struct {
		keys  Keys
		vault Vault
		want  Wrapper
	}{
		{Keys{}, Vault{}, ""},
		{Keys{Local: []Secret{keyC}}, Vault{}, WrapperLocal},
		{Keys{}, there, WrapperVault},
		{Keys{Local: []Secret{keyC}, WriteWith: WrapperVault}, there, WrapperVault},
		{Keys{Local: []Secret{keyC}, WriteWith: WrapperLocal}, there, WrapperLocal},
	} {
		if got := (&Config{Keys: c.keys, Vault: c.vault}).Wrapper(); got != c.want {
			t.Errorf("%+v and %+v write with %q, want %q", c.keys, c.vault, got, c.want)
		}
	}
	login := []string{"PINGPOST_VAULT_ADDRESS=https://vault.example.com", "PINGPOST_VAULT_ROLE_ID=role", "PINGPOST_VAULT_SECRET_ID=secret"}
	_, err := loadText("", append(sufficient(), login...)...)
	checkProblems(t, err, "keys.write_with")
	_, err = loadText("keys: {write_with: vault}\n", sufficient()...)
	checkProblems(t, err, "pingpost.yaml:1: keys.write_with vault.address PINGPOST_VAULT_ADDRESS")
	if cfg, err := loadText("keys: {write_with: vault}\n", append(sufficient(), login...)...); err != nil ||
		cfg.Wrapper() != WrapperVault {
		t.Errorf("%v", err)
	}
}
