{{- define "sandbridge.labels" -}}
app.kubernetes.io/name: sandbridge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
