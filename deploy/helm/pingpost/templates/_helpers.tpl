{{/* Most templates have the argument dict "root" $ "component" NAME, with the name api, console or migration. */}}

{{- define "pingpost.fullname" -}}
{{- $default := ternary .Release.Name (printf "%s-pingpost" .Release.Name) (contains "pingpost" .Release.Name) -}}
{{- .Values.fullnameOverride | default $default | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "pingpost.name" -}}
{{ include "pingpost.fullname" .root }}-{{ .component }}
{{- end -}}

{{- define "pingpost.selector" -}}
app.kubernetes.io/name: pingpost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "pingpost.labels" -}}
{{ include "pingpost.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The port of the component's listener. The port of health checks and metrics is 8082. */}}
{{- define "pingpost.port" -}}
{{ ternary 8080 8081 (eq .component "api") }}
{{- end -}}

{{- define "pingpost.scheme" -}}
{{ ternary "https" "http" (not (empty .root.Values.secrets.tlsCertificate.name)) }}
{{- end -}}

{{/* The component's settings, without those that the chart sets. */}}
{{- define "pingpost.givenConfig" -}}
{{ toYaml (mustMergeOverwrite (deepCopy .root.Values.config) (deepCopy (index .root.Values .component "config"))) }}
{{- end -}}

{{/* The files with secrets that the component gets: the Secret, the file's name, and the setting that names the file. */}}
{{- define "pingpost.files" -}}
{{- $s := .root.Values.secrets -}}
{{- $files := list (list $s.databaseCa "database-ca.crt" "") -}}
{{- if eq .component "migration" -}}
{{-   $files = append $files (list $s.ownerUrl "owner-url" "") -}}
{{- else -}}
{{-   $files = concat $files (list
        (list $s.databaseUrl "database-url" "database.url_file")
        (list $s.platformKeys "platform-keys" "keys.platform_keys_file")
        (list $s.localKek "lead-vault-kek" "keys.local_kek_file")
        (list $s.vaultCa "vault-ca.crt" "vault.ca_file")
        (list $s.journalSecretKey "journal-secret-key" "privacy.journal_secret_key_file")
        (list $s.tracingHeader "tracing-header" "tracing.header_file")
        (list $s.tlsCertificate "tls.crt" "http.tls_cert_file")
        (list $s.tlsKey "tls.key" "http.tls_key_file")
        (list (index $s (printf "%sVaultSecretId" .component)) "vault-secret-id" "vault.secret_id_file")) -}}
{{- end -}}
{{- if eq .component "console" -}}
{{-   $files = append $files (list $s.consoleVaultReadSecretId "vault-read-secret-id" "vault.read_secret_id_file") -}}
{{- end -}}
{{- range $files }}
{{-   if (first .).name }}
- secret: {{ (first .).name }}
  key: {{ (first .).key }}
  file: {{ index . 1 }}
  setting: {{ last . | quote }}
{{-   end }}
{{- end }}
{{- end -}}

{{- define "pingpost.secretFolder" -}}
/run/secrets/pingpost
{{- end -}}

{{- define "pingpost.vaultToken" -}}
{{- if ne .component "migration" -}}
{{-   $config := include "pingpost.givenConfig" . | fromYaml -}}
{{-   if eq "kubernetes" (dig "vault" "auth" "" $config) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The component's configuration file. */}}
{{- define "pingpost.config" -}}
{{- $config := include "pingpost.givenConfig" . | fromYaml -}}
{{- range $path, $instead := dict
      "http.api_addr" "The chart sets it." "http.admin_addr" "The chart sets it." "http.ops_addr" "The chart sets it."
      "http.drain_delay" "Set drain.delaySeconds." "http.shutdown_grace" "Set drain.graceSeconds."
      "http.tls_cert_file" "Set secrets.tlsCertificate." "http.tls_key_file" "Set secrets.tlsKey."
      "database.url" "Set secrets.databaseUrl." "keys.platform_keys" "Set secrets.platformKeys."
      "keys.local_kek" "Set secrets.localKek." "vault.secret_id" "Set secrets.apiVaultSecretId and secrets.consoleVaultSecretId."
      "vault.read_secret_id" "Set secrets.consoleVaultReadSecretId." "vault.ca_file" "Set secrets.vaultCa."
      "vault.token" "Use the auth method approle or kubernetes." "vault.read_token" "Use the auth method approle or kubernetes."
      "vault.jwt_file" "The chart sets it." "privacy.journal_secret_key" "Set secrets.journalSecretKey."
      "tracing.header" "Set secrets.tracingHeader." -}}
{{-   $key := splitList "." $path -}}
{{-   $section := dig (first $key) dict $config -}}
{{-   if or (hasKey $section (last $key)) (hasKey $section (printf "%s_file" (last $key))) -}}
{{-     fail (printf "config.%s cannot be set here. %s" $path $instead) -}}
{{-   end -}}
{{- end -}}
{{- if and (eq .component "api") (or (dig "vault" "read_role" "" $config) (dig "vault" "read_role_id" "" $config)) -}}
{{-   fail "Nodes that serve partners must not be able to decrypt leads. Set read_role or read_role_id in console.config.vault." -}}
{{- end -}}
{{- $_ := required "config.http.public_url is required, such as https://leads.example.com." (dig "http" "public_url" "" $config) -}}
{{- $_ := required "config.http.admin_url is required, such as https://console.example.com." (dig "http" "admin_url" "" $config) -}}
{{- $set := dict
      "http" (dict
        (printf "%s_addr" (ternary "api" "admin" (eq .component "api"))) (printf ":%s" (include "pingpost.port" .))
        "ops_addr" ":8082"
        "drain_delay" (printf "%ds" (int .root.Values.drain.delaySeconds))
        "shutdown_grace" (printf "%ds" (int .root.Values.drain.graceSeconds))) -}}
{{- range include "pingpost.files" . | fromYamlArray -}}
{{-   if .setting -}}
{{-     $key := splitList "." .setting -}}
{{-     $file := printf "%s/%s" (include "pingpost.secretFolder" $) .file -}}
{{-     $_ := mergeOverwrite $set (dict (first $key) (dict (last $key) $file)) -}}
{{-   end -}}
{{- end -}}
{{- if include "pingpost.vaultToken" . -}}
{{-   $file := printf "%s/vault-token" (include "pingpost.secretFolder" .) -}}
{{-   $_ := mergeOverwrite $set (dict "vault" (dict "jwt_file" $file)) -}}
{{- end -}}
{{ toYaml (mustMergeOverwrite $config $set) }}
{{- end -}}

{{/* The name of the ConfigMap with the component's configuration file. */}}
{{- define "pingpost.configName" -}}
{{ include "pingpost.name" . }}-{{ include "pingpost.config" . | sha256sum | trunc 10 }}
{{- end -}}

{{/* The image, with the tag or the chart's appVersion. */}}
{{- define "pingpost.image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* 90% of the memory limit, in MiB. The garbage collector then works harder before the limit is reached. */}}
{{- define "pingpost.memory" -}}
{{- $unit := ternary 1024 1 (hasSuffix "Gi" .) -}}
{{ div (mul (trimSuffix "Mi" (trimSuffix "Gi" .)) $unit 9) 10 }}MiB
{{- end -}}

{{- define "pingpost.probe" -}}
httpGet:
  path: {{ .path }}
  port: ops
  scheme: {{ include "pingpost.scheme" . | upper }}
{{- end -}}

{{/*
The template of a pod. It also has the arguments "arguments", which are the arguments of the program, and "serve", which
is true if the pod has listeners and probes. Pods of tests have the argument "label", the component in their labels.
*/}}
{{- define "pingpost.pod" -}}
{{- $values := .root.Values -}}
{{- $component := index $values .component -}}
{{- $pod := mustMergeOverwrite (deepCopy $values.pod) (deepCopy $component.pod) -}}
{{- $migration := eq .component "migration" -}}
metadata:
  labels:
    {{- include "pingpost.selector" (dict "root" .root "component" (.label | default .component)) | nindent 4 }}
    {{- with $pod.labels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    kubectl.kubernetes.io/default-container: pingpost
    {{- with $pod.annotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  {{- if not $migration }}
  serviceAccountName: {{ include "pingpost.name" . }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $pod.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pod.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pod.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pod.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pod.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- if .serve }}
  terminationGracePeriodSeconds: {{ add $values.drain.delaySeconds $values.drain.graceSeconds 5 }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "pingpost.selector" $ | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- else }}
  restartPolicy: Never
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: pingpost
      image: {{ include "pingpost.image" .root }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .arguments }}
      env:
        {{- if $migration }}
        - {name: PINGPOST_DATABASE_URL_FILE, value: {{ include "pingpost.secretFolder" . }}/owner-url}
        {{- else }}
        - {name: PINGPOST_CONFIG, value: /etc/pingpost/pingpost.yaml}
        {{- end }}
        - {name: GOMEMLIMIT, value: {{ include "pingpost.memory" $component.resources.limits.memory }}}
        {{- with $pod.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- if .serve }}
      ports:
        - {name: {{ .component }}, containerPort: {{ include "pingpost.port" . }}}
        - {name: ops, containerPort: 8082}
      # A new pod gets requests after it has been ready for posts once, so a rollout with a wrong secret stops. The pod
      # is not killed for an hour, because it may have to wait for the database.
      startupProbe:
        {{- include "pingpost.probe" (dict "root" .root "path" "/readyz") | nindent 8 }}
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 1800
      # Pings need neither the database nor Vault, so the pod keeps getting requests while either is unavailable.
      readinessProbe:
        {{- include "pingpost.probe" (dict "root" .root "path" "/readyz/ping") | nindent 8 }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      livenessProbe:
        {{- include "pingpost.probe" (dict "root" .root "path" "/healthz") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- end }}
      resources: {{- toYaml $component.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: secrets, mountPath: {{ include "pingpost.secretFolder" . }}, readOnly: true}
        {{- if not $migration }}
        - {name: config, mountPath: /etc/pingpost, readOnly: true}
        - {name: state, mountPath: /var/lib/pingpost}
        {{- end }}
        {{- with $pod.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- range include "pingpost.files" . | fromYamlArray }}
          - secret: {name: {{ .secret }}, items: [{key: {{ .key }}, path: {{ .file }}}]}
          {{- end }}
          {{- if include "pingpost.vaultToken" . }}
          - serviceAccountToken: {audience: {{ $values.vaultTokenAudience }}, path: vault-token}
          {{- end }}
    {{- if not $migration }}
    - name: config
      configMap: {name: {{ include "pingpost.configName" . }}}
    - name: state
      emptyDir: {sizeLimit: 256Mi}
    {{- end }}
    {{- with $pod.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}
