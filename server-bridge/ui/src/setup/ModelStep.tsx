import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { ModelForm } from "../settings/models/ModelForm";
import { Problem, Ready } from "../settings/parts";
import { useRequests } from "../settings/requests";
import type { Subscription, Trial } from "../settings/types";
import styles from "./setup.module.css";
import room from "../settings/settings.module.css";

/** The step in which the user adds a model, which is tested before it is saved, or skips this. */
export function ModelStep({ onDone }: { onDone: () => void }) {
  const requests = useRequests();
  const loaded = useLoaded(["models"], requests.models);
  const [saved, setSaved] = useState<{ subscription: Subscription; trial: Trial | null } | null>(null);
  const save = async (subscription: Subscription, trial: Trial | null) => setSaved({ subscription, trial });
  if (saved !== null) return <Chosen {...saved} onDone={onDone} />;
  return (
    <Ready loaded={loaded}>
      {({ models: [first] }) => (first === undefined ? <NoModel onSaved={save} onDone={onDone} /> : <Chosen subscription={first} trial={null} onDone={onDone} />)}
    </Ready>
  );
}

interface NoModelProps {
  onSaved: (subscription: Subscription, trial: Trial | null) => Promise<void>;
  onDone: () => void;
}

function NoModel({ onSaved, onDone }: NoModelProps) {
  const { t } = useTranslation("setup");
  return (
    <>
      <ModelForm known={null} isFirst onSaved={onSaved} onCancel={null} />
      <button type="button" className={`quiet ${styles.later}`} onClick={onDone}>
        {t("model.skip")}
      </button>
    </>
  );
}

interface ChosenProps {
  subscription: Subscription;
  /** The result of the test when the model was added. */
  trial: Trial | null;
  onDone: () => void;
}

/** The existing model, with a button to test it again. */
function Chosen({ subscription, trial: first, onDone }: ChosenProps) {
  const { t } = useTranslation("setup");
  const requests = useRequests();
  const [trial, setTrial] = useState(first);
  const test = useAction(async () => setTrial(await requests.testModel(subscription.name, null)));
  const answer = trial === null ? "" : t("model.answered", { model: trial.model, answer: trial.answer });
  return (
    <div className={`${room.card} ${room.stack}`}>
      <p>{t(subscription.shared ? "model.shared" : "model.saved", { name: subscription.name })}</p>
      <p role="status" className={trial === null ? "hint" : room.good}>
        {test.busy ? t("model.testing") : answer}
      </p>
      <Problem text={test.error} />
      <div className={room.formEnd}>
        <button type="button" className="primary" autoFocus onClick={onDone}>
          {t("next")}
        </button>
        <button type="button" className="quiet" disabled={test.busy} onClick={() => void test.run()}>
          {t("model.test")}
        </button>
      </div>
    </div>
  );
}
