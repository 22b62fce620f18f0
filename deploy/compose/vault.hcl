# The settings of Vault. In production, use a storage that can be replicated, such as "raft".
storage "file" {
  path = "/vault/file"
}

listener "tcp" {
  address       = "0.0.0.0:8200"
  tls_cert_file = "/secrets/server.crt"
  tls_key_file  = "/secrets/server.key"
}

api_addr      = "https://vault:8200"
disable_mlock = true # containers have no permission to lock memory
