import { useState } from "react";
import { ModelStep } from "./ModelStep";
import { RunnerStep } from "./RunnerStep";
import { Steps } from "./Steps";

/** The steps after the first account: a model, and the first machine. Both can be skipped. */
export default function Wizard() {
  const [step, setStep] = useState<"model" | "runner">("model");
  return (
    <Steps step={step} key={step}>
      {step === "model" ? <ModelStep onDone={() => setStep("runner")} /> : <RunnerStep />}
    </Steps>
  );
}
