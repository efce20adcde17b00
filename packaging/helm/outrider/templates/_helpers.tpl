{{- define "outrider.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select the pods of a component. They never change. */}}
{{- define "outrider.selector" -}}
app.kubernetes.io/name: outrider
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "outrider.labels" -}}
{{ include "outrider.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Without the version of the chart, so that pods restart only if something in them changes. */}}
{{- define "outrider.podLabels" -}}
{{ include "outrider.selector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object: dict "root" $ "component" "server" "name" "server" */}}
{{- define "outrider.metadata" -}}
name: {{ include "outrider.name" .root }}-{{ .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "outrider.labels" . | nindent 2 }}
{{- $annotations := merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "outrider.image" -}}
{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end }}

{{/* Settings of every pod and of every container: no rights beyond those of an ordinary user. */}}
{{- define "outrider.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "outrider.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where pods are scheduled, from the values of a component. */}}
{{- define "outrider.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "outrider.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "outrider.serverUrl" -}}
{{- if .Values.server.tls.existingSecret -}}
https://{{ include "outrider.name" . }}-server.{{ .Release.Namespace }}.svc:{{ .Values.server.service.port }}
{{- else -}}
{{ .Values.server.publicUrl }}
{{- end -}}
{{- end }}

{{- define "outrider.sandboxNamespace" -}}
{{ default .Release.Namespace .Values.sandboxes.namespace }}
{{- end }}

{{/* A variable from a secret: dict "name" "X" "secret" "y" "key" "z" */}}
{{- define "outrider.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}

{{/* The database, for servers and the migrations. The password must be defined before the URL that contains it. */}}
{{- define "outrider.databaseVariables" -}}
{{- $postgresql := .Values.postgresql }}
{{- if $postgresql.bundled.enabled }}
{{ include "outrider.secretVariable" (dict "name" "POSTGRESQL_PASSWORD" "secret" $postgresql.bundled.existingSecret "key" $postgresql.bundled.key) }}
- name: DATABASE_URL
  value: postgres://outrider:$(POSTGRESQL_PASSWORD)@{{ include "outrider.name" . }}-postgresql/outrider
{{- else }}
{{- with $postgresql.external }}
{{ include "outrider.secretVariable" (dict "name" "DATABASE_URL" "secret" .existingSecret "key" .key) }}
{{- if .directUrlKey }}
{{ include "outrider.secretVariable" (dict "name" "DATABASE_DIRECT_URL" "secret" .existingSecret "key" .directUrlKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "outrider.storageVariables" -}}
{{- with .Values.storage }}
{{- if .bundled.enabled }}
- name: OUTRIDER_BLOBS
  value: s3://outrider/files
- name: OUTRIDER_S3_ENDPOINT
  value: http://{{ include "outrider.name" $ }}-s3:9000
# Only servers can reach the S3 server.
- name: OUTRIDER_S3_DIRECT
  value: none
- name: AWS_ACCESS_KEY_ID
  value: outrider
{{ include "outrider.secretVariable" (dict "name" "AWS_SECRET_ACCESS_KEY" "secret" .bundled.existingSecret "key" .bundled.key) }}
{{- else }}
{{- with .external }}
- name: OUTRIDER_BLOBS
  value: {{ .url | quote }}
{{- with .endpoint }}
- name: OUTRIDER_S3_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .region }}
- name: OUTRIDER_S3_REGION
  value: {{ . | quote }}
{{- end }}
{{- if .existingSecret }}
{{ include "outrider.secretVariable" (dict "name" "AWS_ACCESS_KEY_ID" "secret" .existingSecret "key" .accessKeyIdKey) }}
{{ include "outrider.secretVariable" (dict "name" "AWS_SECRET_ACCESS_KEY" "secret" .existingSecret "key" .secretAccessKeyKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "outrider.variables" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Changes with the given settings, so that pods restart when a file that they read only at startup changes. */}}
{{- define "outrider.checksum" -}}
{{ toJson . | sha256sum | trunc 16 }}
{{- end }}

{{/* As OUTRIDER_WORKER_LABELS: NAME=VALUE, separated by commas. */}}
{{- define "outrider.workerLabels" -}}
{{- $pairs := list }}
{{- range $name, $value := . }}
{{- $pairs = append $pairs (printf "%s=%s" $name $value) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}
