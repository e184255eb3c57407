import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { copyText } from "../lib/copyText";
import { COPIED_NOTE_MS } from "../limits";

/** A small button that copies a text; `name` is its accessible name. */
export function CopyText({ name, text }: { name: string; text: () => string }) {
  const { t } = useTranslation("chat");
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_NOTE_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      className="quiet icon small"
      aria-label={copied ? t("copied") : name}
      title={name}
      onClick={() => void copyText(text()).then(setCopied)}
    >
      {copied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
    </button>
  );
}
