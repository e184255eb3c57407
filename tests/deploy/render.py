"""Renders server-bridge/deploy/ for e2e/deploy.rs: render.py DIRECTORY chart VALUES-AS-JSON | compose. Prints JSON.

The chart is rendered by Helm itself (helm-python-sdk contains its library), and each object is checked strictly against the schema that Kubernetes
publishes for its kind (kubernetes-validate contains these). The Compose file is read with merge keys, and a duplicate key is refused.
"""

import json
import sys

import helm_python as helm
import kubernetes_validate
import yaml

KUBERNETES = ["1.30", "1.37"]


class Strict(yaml.SafeLoader):
    """Refuses a mapping with a duplicate key."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate keys {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


def chart(directory, values):
    # Findings of severity 1 are advice, such as a missing icon.
    findings = [finding for finding in helm.lint(directory, values)["messages"] if finding["severity"] > 1]
    with helm.Chart.load(directory) as loaded:
        loaded.validate_schema(values)
        rendered = loaded.render(values, name="bridge", namespace="sandbridge")
    objects = []
    for name, text in sorted(rendered.items()):
        for document in yaml.load_all(text, Strict):
            if document is None:
                continue
            for version in KUBERNETES:
                kubernetes_validate.validate(document, version, strict=True)
            objects.append(document)
    return {"findings": findings, "objects": objects}


def compose(file):
    with open(file) as text:
        return yaml.load(text, Strict)


if __name__ == "__main__":
    directory, what, *values = sys.argv[1:]
    result = chart(f"{directory}/chart", json.loads(values[0])) if what == "chart" else compose(f"{directory}/compose.yaml")
    json.dump(result, sys.stdout)
