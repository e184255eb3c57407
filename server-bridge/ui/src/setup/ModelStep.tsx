import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { ModelForm } from "../settings/models/ModelForm";
import { Problem } from "../settings/parts";
import { useRequests } from "../settings/requests";
import type { Subscription, Trial } from "../settings/types";

/** A model of one's own, tried at once; or none. */
export function ModelStep({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation("setup");
  const requests = useRequests();
  const models = useLoaded(requests.models);
  const [saved, setSaved] = useState<Subscription | null>(null);
  const [trial, setTrial] = useState<Trial | null>(null);
  const test = useAction(async (name: string) => setTrial(await requests.testModel(name, null)));
  const own = saved ?? models.value?.models[0] ?? null;
  if (own === null) {
    const save = async (subscription: Subscription) => {
      setSaved(subscription);
      void test.run(subscription.name);
    };
    return (
      <>
        <ModelForm known={null} onSaved={save} onCancel={null} />
        <button type="button" className="quiet later" onClick={onDone}>
          {t("model.skip")}
        </button>
      </>
    );
  }
  return (
    <div className="card stack">
      <p>{t(own.shared ? "model.shared" : "model.saved", { name: own.name })}</p>
      <p role="status" className={trial === null ? "hint" : "good"}>
        {test.busy ? t("model.testing") : trial !== null ? t("model.answered", { model: trial.model, answer: trial.answer }) : ""}
      </p>
      <Problem text={test.error} />
      <div className="form-end">
        <button type="button" className="primary" onClick={onDone}>
          {t("next")}
        </button>
        <button type="button" className="quiet" disabled={test.busy} onClick={() => void test.run(own.name)}>
          {t("model.test")}
        </button>
      </div>
    </div>
  );
}
