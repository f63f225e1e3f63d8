"""The paper's labels with the numbers and titles that its PDF prints."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """What stands in the PDF for a label: a number such as Lemma A.6, and a title if it has one."""

    number: str
    title: str = ""


PRINTED = {
    "sec: Intro": Printed("Section 1", "Introduction"),
    "Eq: Problem": Printed("eq. (1)"),
    "Fig: Trade-off_SAMVR": Printed("Figure 1"),
    "Fig: BvsI_SAMVR": Printed("Figure 1"),
    "Fig: FedAvgvsSAMVR": Printed("Figure 1"),
    "Table: Comparison": Printed("Table 1"),
    "sec: Problem": Printed("Section 2", "Preliminaries"),
    "Ass: Lip_Smoothness": Printed("Assumption 1", "Sample Gradient Lipschitz Smoothness"),
    "Ass: Unbiased_Var_Grad": Printed("Assumption 2", "Unbiased gradient and Variance Bounds"),
    "Def: StationaryPt": Printed("Definition 2.1", "epsilon-Stationary Point"),
    "Def: ComputationComplexity": Printed("Definition 2.2", "Sample complexity"),
    "Def: CommunicationComplexity": Printed("Definition 2.3", "Communication complexity"),
    "sec: Algo": Printed("Section 3", "The STEM algorithm and the trade-off analysis"),
    "Algo_DR-STORM_batch": Printed("Algorithm 1"),
    "Sec: Convergence": Printed("Section 3.1", "Main results: convergence guarantees for STEM"),
    "Thm: PR_Convergence_Main": Printed("Theorem 3.1"),
    "eq: Step-Size": Printed("eq. (2)"),
    "eq: I:b_SAMVR": Printed("eq. (3)"),
    "eq:complexity": Printed("eq. (4)"),
    "rmk:complexity": Printed("Remark 1", "Near-Optimal sample and communication complexities"),
    "Rem: Tradeoff": Printed("Remark 2", "The Optimal Batch Sizes and Local Updates Trade-off"),
    "Rem: Heterogeneity": Printed("Remark 4", "Data Heterogeneity"),
    "cor: Batches": Printed("Corollary 1", "Minibatch STEM"),
    "Sec: Special Case": Printed("Section 3.2", "Special cases: The FedAvg algorithm"),
    "Algo_FedAvg": Printed("Algorithm 2"),
    "Thm: Flexible_FedAvg": Printed("Theorem 3.2", "The FedAvg Algorithm"),
    "eq:I:b_FedAvg": Printed("eq. (5)"),
    "sec: Experiments": Printed("Section 4", "Numerical results"),
    "Fig: CIFAR_b8e1": Printed("Figure 2"),
    "Fig: CIFAR_b64e1": Printed("Figure 3"),
    "Fig: CIFAR_b8e1_noniid": Printed("Figure 4"),
    "Fig: SampleComplexity_Comp": Printed("Figure 5"),
    "sec: Conclusion": Printed("Section 5", "Conclusion"),
    "App: SAMVR": Printed("Section A", "Proofs of Convergence Guarantees for STEM"),
    "Lem: InnerProduct_e_t_Grad": Printed("Lemma A.1"),
    "Lem: InnerProd_AcrossNodes": Printed("Lemma A.2"),
    "Lem: e_bar_bound_Batch": Printed("Lemma A.3"),
    "Algo_DR-STORM_batch_App": Printed("Algorithm 3"),
    "App: Proof_MainResults": Printed("Section A.2", "Proof of Main Results: STEM"),
    "lem: ErrorAccumulation_Batch_App": Printed("Lemma A.4", "Error Accumulation from Iterates"),
    "lem: Descent_Batch_App": Printed("Lemma A.5", "Descent Lemma"),
    "eq: DR_Smoothness_1st_Batch": Printed("eq. (6)"),
    "eq: DR_Gradient_Ineq_Batch": Printed("eq. (7)"),
    "eq: DR_Smoothness_2nd_batch": Printed("eq. (8)"),
    "lem: ErrorContraction_BatchGradients_App": Printed("Lemma A.6", "Gradient Error Contraction"),
    "eq_bound_grad_error_norm": Printed("eq. (9)"),
    "eq_bound_grad_error_norm_2": Printed("eq. (10)"),
    "eq: Potential_Fn_Batch_App": Printed("eq. (11)"),
    "Lem: Potential_Descent_App": Printed("Lemma A.7", "Potential Function Descent"),
    "Eq: Error_Descent_1": Printed("eq. (12)"),
    "Eq: Step_Difference": Printed("eq. (13)"),
    "lem: GradientErrorContraction_BatchGradients_App": Printed(
        "Lemma A.8", "Gradient Consensus Error"
    ),
    "eq: DR_Descent_d1_Batch": Printed("eq. (14)"),
    "eq: DR_Descent_d_Intermediate1_Batch": Printed("eq. (15)"),
    "eq: DR_Descent_d_Intermediate2_Batch": Printed("eq. (16)"),
    "lem: GradientError_PotentialFn_App": Printed(
        "Lemma A.9", "Accumulated Gradient Consensus Error"
    ),
    "Eq: GradientError_t_App": Printed("eq. (17)"),
    "Eq: GradientError_Recursive": Printed("eq. (18)"),
    "Thm: PR_Convergence_Main_App": Printed("Theorem A.10"),
    "Eq: Grad_Norm_Sum": Printed("eq. (19)"),
    "Eq: Sum_OverT_LastTerm": Printed("eq. (20)"),
    "Eq: Grad_Norm_Sum1": Printed("eq. (21)"),
    "Eq: GradNorm_1stTerm": Printed("eq. (22)"),
    "Eq: GradNorm_2ndTerm": Printed("eq. (23)"),
    "Eq: GradNorm_3rdTerm": Printed("eq. (24)"),
    "cor: Trade-off_App": Printed("Theorem A.11", "Trade-off: Local Updates vs Batch Sizes"),
    "Eq: Total_Iterations_App": Printed("eq. (25)"),
    "cor: LocalComputation_App": Printed("Corollary 2", "FedSTEM: Local Updates"),
    "Eq: Total_Iterations_App_Local": Printed("eq. (26)"),
    "cor: Batches_App": Printed("Corollary 3", "Minibatch STEM"),
    "Eq: Total_Iterations_App_Batch": Printed("eq. (27)"),
    "App: FedAvg": Printed("Section B", "Proofs of Convergence Guarantees for FedAvg"),
    "Lem: Grad_Variance_FedAvg": Printed("Lemma B.1"),
    "lem: ErrorAccumulation_Iterates_FedAvg": Printed(
        "Lemma B.2", "Error Accumulation from Iterates"
    ),
    "Eq: ConsensusError_FedAvg": Printed("eq. (28)"),
    "Eq: GradVar_FedAvg": Printed("eq. (29)"),
    "Eq: InterNodeVar_FedAvg": Printed("eq. (30)"),
    "lem: Fn_Descent_FedAvg": Printed("Lemma B.3", "Descent Lemma"),
    "Eq: Grad_Lip_FedAvg": Printed("eq. (31)"),
    "App: Useful_Lemmas": Printed("Section C", "Useful lemmas"),
    "Lem: Sum_Mean_Kron": Printed("Lemma C.1"),
    "Lem: AD_Sum_1overT": Printed("Lemma C.2", "From Cutkosky and Orabona"),
    "Lem: Norm_Ineq": Printed("Lemma C.3"),
}
